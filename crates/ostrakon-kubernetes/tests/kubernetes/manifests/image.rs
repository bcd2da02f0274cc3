//! The Dockerfile, as far as it can be judged without building it: it builds what there is, and puts it where the manifests look for it.

use std::process::Command;

use serde_json::Value;

use super::{
    manifest::{items, text},
    text_of,
    workload::Workload,
};

/// The instructions, each on one line, without comments.
fn instructions() -> Vec<String> {
    let text = text_of("Dockerfile");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    let lines = joined.lines().map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        words.join(" ")
    });
    lines.filter(|line| !line.is_empty()).collect()
}

/// The instructions of a stage.
fn stage(name: &str) -> Vec<String> {
    let begins = format!(" AS {name}");
    let all = instructions();
    let first = all.iter().position(|line| line.ends_with(&begins));
    let stage = all.into_iter().skip(first.expect(name));
    let (first, rest) = (stage.clone().take(1), stage.skip(1));
    first
        .chain(rest.take_while(|line| !line.starts_with("FROM ")))
        .collect()
}

fn packages() -> Value {
    let cargo = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs this test");
    assert!(cargo.status.success(), "{cargo:?}");
    serde_json::from_slice(&cargo.stdout).expect("it is JSON")
}

#[test]
fn what_is_built_is_there_and_goes_where_it_is_looked_for() {
    let metadata = packages();
    for (package, program) in [
        ("ostrakon-cli", "ostrakon"),
        ("http-counter", "http-counter"),
    ] {
        let run = &stage(&format!("build-{program}"))[1..];
        let run = run.iter().find(|line| line.starts_with("RUN "));
        let run = run.expect("it builds");
        let build = format!("cargo build --release --locked -p {package}");
        assert!(run.contains(&build), "{run}");
        let put = format!("install -D target/release/{program} /out/{program}");
        assert!(run.ends_with(&put), "{run}");

        let mut all = items(&metadata["packages"]).iter();
        let found = all.find(|found| found["name"] == package).expect(package);
        let mut targets = items(&found["targets"]).iter();
        assert!(targets.any(|t| t["name"] == program && t["kind"][0] == "bin"));

        let image = stage(program);
        let copy = format!("COPY --from=build-{program} /out/{program} /usr/local/bin/{program}");
        assert!(image.contains(&copy), "{image:?}");
        // Without a shell between, so that the signal comes to the program itself.
        let entry = format!("ENTRYPOINT [\"/usr/local/bin/{program}\"]");
        assert!(image.contains(&entry), "{image:?}");
        assert_eq!(image[0], format!("FROM runtime AS {program}"));
    }
}

#[test]
fn the_command_is_built_with_what_the_manifests_need() {
    let build = stage("build-ostrakon");
    let features = build
        .iter()
        .find_map(|line| line.strip_prefix("ARG FEATURES="));
    let features: Vec<_> = features.expect("they are named").split(',').collect();
    assert_eq!(features, ["postgres", "kubernetes"]);
    let metadata = packages();
    let mut all = items(&metadata["packages"]).iter();
    let command = all.find(|found| found["name"] == "ostrakon-cli");
    let known = &command.expect("it is there")["features"];
    for feature in features {
        assert!(known.get(feature).is_some(), "{feature}");
    }
    let last = instructions();
    let last = last.iter().rfind(|line| line.starts_with("FROM "));
    assert_eq!(last.map(String::as_str), Some("FROM runtime AS ostrakon"));
}

#[test]
fn the_image_runs_as_the_user_that_the_manifests_say() {
    let runtime = stage("runtime");
    assert!(runtime.contains(&"USER 65532:65532".to_owned()));
    for workload in Workload::all() {
        let image = text(&workload.container()["image"]);
        let (name, tag) = image.split_once(':').expect("a tag");
        assert_eq!(tag, env!("CARGO_PKG_VERSION"));
        assert!(["ostrakon", "ostrakon-http-counter"].contains(&name));
        assert!(text_of("docs/kubernetes.md").contains(&format!("docker build -t {image}")));
        assert!(workload.container().get("command").is_none());
    }
}

#[test]
fn the_compiler_of_the_image_is_the_one_that_the_workspace_wants() {
    let workspace = text_of("Cargo.toml");
    let wanted = workspace
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "));
    let wanted = wanted.expect("it is said").trim_matches('"');
    assert_eq!(
        stage("source")[0],
        format!("FROM rust:{wanted}-bookworm AS source")
    );
}

/// All members of the workspace are read by cargo, and some sources have texts from beside them as documentation.
#[test]
fn nothing_that_a_build_reads_is_left_out() {
    let ignored = text_of(".dockerignore");
    let ignored: Vec<_> = ignored
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .collect();
    for needed in [
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "crates",
        "docs",
        "examples",
        "xtask",
    ] {
        assert!(!ignored.contains(&needed), "{needed}");
        assert!(text_or_folder(needed), "{needed}");
    }
    assert!(ignored.contains(&"target") && ignored.contains(&".git"));
    let is_plain = |line: &&str| !line.contains(['*', '!', '?']);
    assert!(ignored.iter().all(is_plain), "this test reads no patterns");
}

fn text_or_folder(path: &str) -> bool {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::path::Path::new(root).join(path).exists()
}
