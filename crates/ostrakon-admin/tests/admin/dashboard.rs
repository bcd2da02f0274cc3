//! The dashboard, as far as it can be seen without a browser.

use crate::house::{House, Reply, request};

async fn fetch(house: &House, path: &str) -> Reply {
    let reply = house.send(&request("GET", path, &[], "")).await;
    assert_eq!(reply.status, 200, "{path}: {reply:?}");
    reply
}

/// The files that a text of the page names.
fn named(text: &str) -> Vec<String> {
    let quoted = text.split('"').skip(1).step_by(2);
    let files = quoted.filter_map(|name| {
        name.strip_prefix("dashboard/")
            .or_else(|| name.strip_prefix("./"))
    });
    files.map(ToOwned::to_owned).collect()
}

/// The page and every file that it loads, however far down.
async fn everything(house: &House) -> Vec<(String, Reply)> {
    let page = fetch(house, "/").await;
    let mut wanted = named(&page.body);
    let mut found = vec![("index.html".to_owned(), page)];
    while let Some(name) = wanted.pop() {
        if found.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let file = fetch(house, &format!("/dashboard/{name}")).await;
        wanted.extend(named(&file.body));
        found.push((name, file));
    }
    found
}

#[tokio::test]
async fn the_page_has_all_its_files_and_the_browser_takes_none_from_elsewhere() {
    let house = House::with_two_nodes().await;
    let all = everything(&house).await;
    assert_eq!(all.len(), 17, "the page and all of its files are reached");
    for (name, reply) in &all {
        let policy = "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
        for header in [
            policy,
            "x-content-type-options: nosniff",
            "cache-control: no-store",
        ] {
            assert!(reply.head.contains(header), "{name}: {reply:?}");
        }
        let kind = match name.rsplit('.').next().unwrap() {
            "html" => "text/html",
            "css" => "text/css",
            "svg" => "image/svg+xml",
            _ => "text/javascript",
        };
        assert!(
            reply.head.contains(&format!("content-type: {kind}")),
            "{name}"
        );
    }
}

#[tokio::test]
async fn nothing_of_the_page_is_from_elsewhere_or_makes_markup_of_what_users_named() {
    let house = House::with_two_nodes().await;
    for (name, reply) in everything(&house).await {
        let text = reply.body.replace("http://www.w3.org/", "");
        let forbidden = [
            "http:",
            "https:",
            "\"//",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            " style=",
            " onclick=",
            "sessionStorage",
            "url(",
        ];
        for word in forbidden {
            assert!(!text.contains(word), "{name} has {word}");
        }
    }
}

#[tokio::test]
async fn a_file_that_is_not_there_is_a_problem_like_any_other() {
    let house = House::with_two_nodes().await;
    let problem = house.get("/dashboard/secret.txt").await.problem(404);
    assert!(problem.contains("no file `secret.txt`"), "{problem}");
    house.get("/dashboard/..%2Findex.html").await.problem(404);
    assert!(house.get("/").await.body.starts_with("<!doctype html>"));
}
