//! What documents name is there: files, services, pods, settings and secrets.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    manifest::{Manifest, ROOT, entries, items, selects, text},
    text_of,
    workload::Workload,
};

#[test]
fn every_file_belongs_to_one_kustomization() {
    let mut listed = Vec::new();
    for kustomization in Manifest::kustomizations() {
        let folder = kustomization.file.parent().expect("it is in a folder");
        assert_eq!(kustomization.json["namespace"], "ostrakon");
        for resource in items(&kustomization.json["resources"]) {
            let path = folder.join(text(resource));
            assert!(path.exists(), "{}", path.display());
            listed.push(path);
        }
    }
    let files: BTreeSet<_> = Manifest::all().into_iter().map(|m| m.file).collect();
    for file in files {
        let times = listed.iter().filter(|path| **path == file).count();
        assert_eq!(times, 1, "{}", file.display());
    }
    let root = text_of("deploy/kubernetes/kustomization.yaml");
    assert!(root.contains("# - counter-web"), "{ROOT}: it is optional");
}

#[test]
fn every_service_leads_to_ports_of_pods() {
    for service in Manifest::of_kind("Service") {
        let selected = Workload::selected_by(service.at("/spec/selector"));
        assert_eq!(selected.len(), 1, "{}", service.title());
        for port in items(service.at("/spec/ports")) {
            assert!(
                selected[0].has_port(&port["targetPort"]),
                "{}",
                service.title()
            );
        }
    }
}

#[test]
fn every_stateful_set_has_its_headless_service() {
    for set in Manifest::of_kind("StatefulSet") {
        let name = text(set.at("/spec/serviceName"));
        let service = Manifest::named("Service", name).expect(name);
        assert_eq!(*service.at("/spec/clusterIP"), "None");
        assert_eq!(*service.at("/spec/publishNotReadyAddresses"), true);
        let labels = set.at("/spec/template/metadata/labels");
        assert!(selects(service.at("/spec/selector"), labels), "{name}");
    }
}

#[test]
fn nodes_know_every_manager_by_its_name() {
    let managers = Manifest::named("StatefulSet", "ostrakon-manager").expect("it is there");
    let replicas = managers.at("/spec/replicas").as_u64().expect("a number");
    assert_eq!(replicas, 2);
    let service = text(managers.at("/spec/serviceName"));
    let expected: Vec<_> = (0..replicas)
        .map(|number| format!("ostrakon-manager-{number}.{service}:9470"))
        .collect();
    assert!(Workload(managers).has_port(&9470.into()));
    let nodes = Workload::all();
    let told = nodes.iter().filter_map(|node| node.value_of("MANAGERS"));
    let told: Vec<_> = told.collect();
    assert_eq!(told, [&expected.join(","), &expected.join(",")]);
}

#[test]
fn everybody_is_in_the_cluster_of_the_managers() {
    let settings = Manifest::named("ConfigMap", "ostrakon-manager").expect("it is there");
    let settings = text(&settings.json["data"]["manager.toml"]).to_owned();
    for workload in Workload::all() {
        if let Some(cluster) = workload.value_of("CLUSTER") {
            assert!(settings.contains(&format!("cluster = \"{cluster}\"")));
            assert_eq!(workload.labels()["ostrakon-cluster"], cluster);
        }
    }
}

#[test]
fn disruptions_and_pods_belong_together() {
    let budgets = Manifest::of_kind("PodDisruptionBudget");
    let mut covered = Vec::new();
    for budget in budgets {
        let selected = Workload::selected_by(budget.at("/spec/selector/matchLabels"));
        assert_eq!(selected.len(), 1, "{}", budget.title());
        let replicas = selected[0].0.at("/spec/replicas").as_u64();
        let unavailable = budget.at("/spec/maxUnavailable").as_u64();
        assert!(unavailable < replicas, "{}", budget.title());
        assert!(unavailable > Some(0), "else no host could be emptied");
        covered.push(selected[0].0.name().to_owned());
    }
    covered.sort();
    assert_eq!(covered, ["counter", "counter-web", "ostrakon-manager"]);
}

#[test]
fn settings_and_secrets_are_there_or_the_documentation_makes_them() {
    let documentation = text_of("docs/kubernetes.md");
    let mut secrets = BTreeSet::new();
    for workload in Workload::all() {
        for volume in items(&workload.pod()["volumes"]) {
            if let Some(map) = volume.pointer("/configMap/name") {
                let map = Manifest::named("ConfigMap", text(map)).expect("it is there");
                let mounts = items(&workload.container()["volumeMounts"]);
                let mount = mounts.iter().find(|mount| mount["name"] == volume["name"]);
                let file = text(&mount.expect("it is mounted")["subPath"]);
                assert!(entries(&map.json["data"]).contains_key(file), "{file}");
            }
            if let Some(secret) = volume.pointer("/secret/secretName") {
                secrets.insert(text(secret).to_owned());
            }
        }
        for (_, value) in workload.environment() {
            if let Some(secret) = value.pointer("/secretKeyRef/name") {
                secrets.insert(text(secret).to_owned());
            }
        }
    }
    assert_eq!(secrets.len(), 3);
    for secret in secrets {
        let command = format!("create secret generic {secret}");
        assert!(documentation.contains(&command), "{command}");
    }
}

/// A pod's version is one of its labels, so that it is written once.
#[test]
fn the_version_that_a_node_tells_is_that_of_its_image() {
    let node = Workload(Manifest::named("StatefulSet", "counter").expect("it is there"));
    let image = text(&node.container()["image"]);
    let (_, tag) = image.rsplit_once(':').expect("a tag");
    assert_eq!(node.labels()["app.kubernetes.io/version"], tag);
    let environment = node.environment();
    let version = environment.iter().find(|(name, _)| *name == "VERSION");
    let from: &Value = version.expect("it is said").1;
    let path = "metadata.labels['app.kubernetes.io/version']";
    assert_eq!(from["fieldRef"]["fieldPath"], path);
}
