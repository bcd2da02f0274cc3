//! `Workload`: what runs pods; and whether it runs them as it should.

use serde_json::{Value, json};

use super::{
    manifest::{Manifest, entries, items, selects, text},
    text_of,
};

pub(super) struct Workload(pub(super) Manifest);

impl Workload {
    pub(super) fn all() -> Vec<Self> {
        let kinds = ["StatefulSet", "Deployment"];
        let all = kinds.into_iter().flat_map(Manifest::of_kind);
        all.map(Self).collect()
    }

    /// Those whose pods have the labels that are asked for.
    pub(super) fn selected_by(selector: &Value) -> Vec<Self> {
        let mut all = Self::all();
        all.retain(|workload| selects(selector, workload.labels()));
        all
    }

    pub(super) fn labels(&self) -> &Value {
        self.0.at("/spec/template/metadata/labels")
    }

    pub(super) fn pod(&self) -> &Value {
        self.0.at("/spec/template/spec")
    }

    /// There is one in each pod.
    pub(super) fn container(&self) -> &Value {
        assert_eq!(items(&self.pod()["containers"]).len(), 1);
        &self.pod()["containers"][0]
    }

    /// Whether its container has a port of this name or number.
    pub(super) fn has_port(&self, port: &Value) -> bool {
        let ports = items(&self.container()["ports"]);
        let mut known = ports
            .iter()
            .flat_map(|port| [&port["name"], &port["containerPort"]]);
        known.any(|known| known == port)
    }

    /// The variables of its container, with their values or where those come from.
    pub(super) fn environment(&self) -> Vec<(&str, &Value)> {
        let variables = items(&self.container()["env"]).iter();
        let value = |variable: &'_ Value| match variable.get("value") {
            Some(_) => "value",
            None => "valueFrom",
        };
        variables
            .map(|variable| (text(&variable["name"]), &variable[value(variable)]))
            .collect()
    }

    pub(super) fn value_of(&self, variable: &str) -> Option<&str> {
        let all = self.environment();
        let found = all.into_iter().find(|(name, _)| *name == variable)?;
        found.1.as_str()
    }
}

#[test]
fn a_workload_selects_its_own_pods() {
    for workload in Workload::all() {
        let title = workload.0.title();
        let own = workload.0.at("/spec/selector/matchLabels");
        assert!(selects(own, workload.labels()), "{title}");
        assert_eq!(Workload::selected_by(own).len(), 1, "{title}: only its own");
        let spread = items(&workload.pod()["topologySpreadConstraints"]);
        assert_eq!(spread.len(), 1, "{title}");
        assert_eq!(spread[0]["labelSelector"]["matchLabels"], *own, "{title}");
    }
}

#[test]
fn nobody_is_root_or_writes_to_its_image() {
    for workload in Workload::all() {
        let (title, pod) = (workload.0.title(), &workload.pod()["securityContext"]);
        assert_eq!(pod["runAsNonRoot"], true, "{title}");
        assert_eq!(pod["runAsUser"], 65532, "{title}");
        assert_eq!(
            pod["fsGroup"], 65532,
            "{title}: else it cannot read its key"
        );
        assert_eq!(pod["seccompProfile"]["type"], "RuntimeDefault", "{title}");
        let expected = json!({
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        });
        assert_eq!(workload.container()["securityContext"], expected, "{title}");
        let shared = ["hostPID", "shareProcessNamespace", "hostNetwork"];
        for key in shared {
            assert!(workload.pod().get(key).is_none(), "{title}: {key}");
        }
    }
}

#[test]
fn everybody_says_what_it_needs() {
    for workload in Workload::all() {
        let resources = &workload.container()["resources"];
        for needed in ["/requests/cpu", "/requests/memory", "/limits/memory"] {
            assert!(
                resources.pointer(needed).is_some(),
                "{}",
                workload.0.title()
            );
        }
    }
}

#[test]
fn probes_ask_what_is_there() {
    let service = text_of("examples/http-counter/src/main.rs");
    for workload in Workload::all() {
        for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
            let (title, probe) = (workload.0.title(), &workload.container()[probe]);
            if let Some(get) = probe.get("httpGet") {
                assert!(workload.has_port(&get["port"]), "{title}");
                let route = format!(".route(\"{}\"", text(&get["path"]));
                assert!(service.contains(&route), "{title}: {route}");
            } else {
                // What follows is tried with the real command, in the tests of `ostrakon-cli`.
                let command = &probe["exec"]["command"];
                assert_eq!(command[0], "/usr/local/bin/ostrakon", "{title}");
                assert_eq!(command[1], "probe", "{title}");
            }
            assert!(probe["periodSeconds"].is_number(), "{title}");
        }
    }
}

/// What is started gets the time to join: thirty seconds, unless told otherwise.
#[test]
fn nobody_is_killed_while_it_joins() {
    for workload in Workload::all() {
        let probe = &workload.container()["startupProbe"];
        let number = |key: &str| probe[key].as_u64().expect("a number");
        let patience = number("periodSeconds") * number("failureThreshold");
        assert!(patience > 30, "{}", workload.0.title());
    }
}

#[test]
fn nobody_is_killed_before_it_has_handed_over() {
    let requests = "LAST_REQUESTS: Duration = Duration::from_secs(10)";
    assert!(text_of("examples/http-counter/src/main.rs").contains(requests));
    let leave = "leave_within: Duration::from_secs(30)";
    assert!(text_of("crates/ostrakon/src/plane/part.rs").contains(leave));
    let stop = "stop_deadline: Duration::from_secs(3)";
    assert!(text_of("crates/ostrakon/src/hosting.rs").contains(stop));
    let mut nodes = Workload::all();
    nodes.retain(|workload| workload.0.name() != "ostrakon-manager");
    assert_eq!(nodes.len(), 2);
    for node in nodes {
        let pause = node.container().pointer("/lifecycle/preStop/sleep/seconds");
        let pause = pause.and_then(Value::as_u64).expect("it waits");
        let grace = &node.pod()["terminationGracePeriodSeconds"];
        let grace = grace.as_u64().expect("a number");
        assert!(grace > pause + 10 + 30 + 3, "{}", node.0.title());
    }
}

#[test]
fn a_node_is_told_nothing_that_it_does_not_read() {
    let settings = text_of("examples/http-counter/src/settings.rs");
    let place = text_of("crates/ostrakon/src/plane/place.rs");
    for workload in Workload::all() {
        if workload.0.name() == "ostrakon-manager" {
            continue; // The command refuses unknown variables itself: see its own tests.
        }
        for (name, _) in workload.environment() {
            let read = |source: &str| source.contains(&format!("\"{name}\""));
            let passed_on = |(_, value): (&str, &Value)| {
                let value = value.as_str().unwrap_or_default();
                value.contains(&format!("$({name})"))
            };
            let is_used = read(&settings)
                || read(&place)
                || workload.environment().into_iter().any(passed_on);
            assert!(is_used, "{}: {name}", workload.0.title());
        }
    }
}

#[test]
fn values_refer_only_to_what_was_said_before_them() {
    for workload in Workload::all() {
        let mut said = Vec::new();
        for (name, value) in workload.environment() {
            let mut parts = value.as_str().unwrap_or_default().split("$(");
            parts.next();
            for part in parts {
                let (used, _) = part.split_once(')').expect("it is closed");
                assert!(said.contains(&used), "{name} uses {used}");
            }
            said.push(name);
        }
    }
}

#[test]
fn addresses_that_are_listened_on_are_ports_of_the_container() {
    for workload in Workload::all() {
        for variable in ["HTTP_LISTEN", "NODE_LISTEN", "NODE_ADVERTISE"] {
            if let Some(address) = workload.value_of(variable) {
                let (_, port) = address.rsplit_once(':').expect("a port");
                let port: u16 = port.parse().expect("a number");
                assert!(workload.has_port(&port.into()), "{variable}");
            }
        }
    }
}

#[test]
fn files_are_where_volumes_are_mounted() {
    for workload in Workload::all() {
        let title = workload.0.title();
        let mounts = items(&workload.container()["volumeMounts"]);
        for mount in mounts {
            let mut volumes = items(&workload.pod()["volumes"]).iter();
            assert!(volumes.any(|v| v["name"] == mount["name"]), "{title}");
            assert_eq!(mount["readOnly"], true, "{title}");
        }
        for (name, value) in workload.environment() {
            let Some(path) = value.as_str().filter(|value| value.starts_with('/')) else {
                continue;
            };
            let mounted = |mount: &Value| path.starts_with(text(&mount["mountPath"]));
            assert!(mounts.iter().any(mounted), "{title}: {name}");
        }
    }
}

#[test]
fn certificates_that_a_driver_makes_are_those_that_are_read() {
    let web = Workload(Manifest::named("Deployment", "counter-web").expect("it is there"));
    let volume = &items(&web.pod()["volumes"])[0]["csi"]["volumeAttributes"];
    let attribute = |name: &str| text(&volume[format!("csi.cert-manager.io/{name}")]);
    for (variable, file) in [
        ("TLS_CA", "ca-file"),
        ("TLS_CERTIFICATE", "certificate-file"),
        ("TLS_KEY", "privatekey-file"),
    ] {
        let path = web.value_of(variable).expect("it is set");
        assert!(path.ends_with(&format!("/{}", attribute(file))), "{path}");
    }
    let cluster = web.value_of("CLUSTER").expect("it is set");
    let role = web.value_of("ROLE").expect("it is set");
    let identity = format!("ostrakon://{cluster}/{role}/${{POD_NAME}}");
    assert_eq!(attribute("uri-sans"), identity);
    assert!(attribute("key-usages").contains("client auth"));
    assert!(entries(volume).len() > 6);
}
