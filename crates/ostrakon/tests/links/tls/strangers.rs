//! Certificates that do not fit, and those who show them.

use ostrakon_tls::UtcTime;

use super::*;
use crate::handshakes::stranger::{Declined, Letter, Ready, Said, kind};

#[tokio::test]
async fn another_authority_is_not_trusted() {
    let log = Log::listen();
    let (ours, theirs) = (Office::new(), Office::new());
    let nodes = vec![
        start("node-1", ours.node("node-1")).await,
        start("node-2", theirs.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
    asks_in_vain(&cluster).await;
    let flaw = "no authority in our ca file signed it";
    log.says(&["cannot connect", "peer=node-2", flaw]).await;
    // The dialer was the first to see it; the acceptor knows that it was refused.
    log.says(&["a connection is refused", "the peer refused us"])
        .await;
    cluster.leave().await;
}

#[tokio::test]
async fn an_acceptor_does_not_trust_another_authority_either() {
    let log = Log::listen();
    let (ours, theirs) = (Office::new(), Office::new());
    // The dialer trusts both, so that it is the acceptor that judges.
    ours.trust(&[&ours.authority, &theirs.authority]);
    let nodes = vec![
        start("node-1", ours.node("node-1")).await,
        start("node-2", theirs.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
    asks_in_vain(&cluster).await;
    let flaw = "no authority in our ca file signed it";
    log.says(&["a connection is refused", flaw]).await;
    log.says(&["cannot connect", "peer=node-2", "refused us"])
        .await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_certificate_that_expires_while_its_node_runs_is_refused() {
    let log = Log::listen();
    let office = Office::new();
    let until = UtcTime::now().plus(Duration::from_secs(2));
    let validity = Validity {
        from: UtcTime::now().minus(Duration::from_secs(60)),
        until,
    };
    let short = office.issue_for(Role::Node, "node-1", validity);
    let nodes = vec![
        start("node-1", Security::tls(short).unwrap()).await,
        start("node-2", office.node("node-2")).await,
    ];
    let cluster = Cluster::connect(nodes).await;
    while UtcTime::now() <= until {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    asks_in_vain(&cluster).await;
    log.says(&["a connection is refused", "it expired at"])
        .await;
    log.says(&["cannot connect", "peer=node-2", "refused us"])
        .await;
    cluster.leave().await;
}

#[tokio::test]
async fn only_a_certificate_of_that_name_and_a_fitting_role_lets_somebody_in() {
    let log = Log::listen();
    let office = Office::new();
    let node = start("node-1", office.node("node-1")).await;
    let address = testing::address(&node);
    let hello = Hello::to("node-1");
    for (role, name, reason) in [
        (Role::Manager, "stranger", "has the role `manager`"),
        (Role::Admin, "stranger", "has the role `admin`"),
        (
            Role::Node,
            "node-3",
            "certificate is for `node-3`, but it says to be `stranger`",
        ),
        (
            Role::Client,
            "shop",
            "certificate is for `shop`, but it says to be `stranger`",
        ),
    ] {
        let files = office.issue(role, name);
        let refusal = shows(files, address, &hello).await.refusal();
        assert!(refusal.contains(reason), "{refusal}");
        log.says(&["a connection is refused", reason]).await;
    }
    for role in [Role::Node, Role::Client] {
        let own = office.issue(role, "stranger");
        assert_eq!(shows(own, address, &hello).await.welcome().node, "node-1");
    }
    node.leave().await.unwrap();
}

#[tokio::test]
async fn a_client_is_answered_and_never_taken_for_a_node_even_if_it_has_the_name_of_one() {
    let office = Office::new();
    let client = Tls::load(office.issue(Role::Client, "node-2")).unwrap();
    let cluster = office.two_nodes().await;
    // It also claims to be later than any start of a node.
    let hello = Hello {
        node: "node-2".to_owned(),
        incarnation: u64::MAX,
        ..Hello::to("node-1")
    };
    let address = testing::address(&cluster.nodes[0]);
    let stream = TcpStream::connect(address).await.unwrap();
    let (stream, _) = client.connect(stream).await.unwrap();
    let mut client = Stranger::on(stream);
    let welcome = client.introduce(&hello).await.welcome();
    client.ready(welcome.challenge).await;
    let id = cluster.id_on(0);
    let add = Said::Add {
        entry: 7,
        reply: Some(0),
    };
    let ask = Letter::ask(5, cluster.shard(&id), &id, &add);
    client.say(&ask.frame()).await;
    assert_eq!(client.frame_of(kind::ANSWER).await.request(), 5);

    // What is for the node of that name goes there, and the node itself is let in.
    for (from, to) in [(0, 1), (1, 0)] {
        let ledger = cluster.nodes[from].entity::<Ledger>(cluster.id_on(to));
        assert!(ledger.add(8).await.unwrap() > 0);
    }
    let there = cluster.nodes[1].entity::<Ledger>(cluster.id_on(1));
    assert_eq!(there.entries().await.unwrap(), [8]);
    client.is_heard().await;
    cluster.leave().await;
}

#[tokio::test]
async fn nobody_is_let_in_by_the_certificate_of_a_client() {
    let log = Log::listen();
    let office = Office::new();
    let cluster = office.two_nodes().await;
    let tls = Tls::load(office.issue(Role::Client, "shop")).unwrap();
    let listener = cluster.instead_of("node-2").await;
    let impostor = async {
        let (stream, _) = listener.accept().await.unwrap();
        assert!(tls.accept(stream).await.is_err());
        drop(listener);
    };
    tokio::join!(asks_in_vain(&cluster), impostor);
    log.says(&["cannot connect", "peer=node-2"]).await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_certificate_of_another_cluster_is_refused_even_from_a_trusted_authority() {
    let log = Log::listen();
    let (ours, theirs) = (Office::new(), Office::of("staging"));
    for office in [&ours, &theirs] {
        office.trust(&[&ours.authority, &theirs.authority]);
    }
    let other = Fixed {
        cluster: "staging".to_owned(),
        ..secured(theirs.node("node-2"))
    };
    let nodes = vec![
        start("node-1", ours.node("node-1")).await,
        builder("node-2").fixed(other).start().await.unwrap(),
    ];
    let cluster = Cluster::connect(nodes).await;
    asks_in_vain(&cluster).await;
    let reason = "ostrakon://staging/node/node-2, of another cluster than ours (test)";
    log.says(&["cannot connect", reason]).await;
    let reason = "ostrakon://test/node/node-1, of another cluster than ours (staging)";
    log.says(&["a connection is refused", reason]).await;
    cluster.leave().await;
}

#[tokio::test]
async fn whoever_answers_with_the_certificate_of_another_node_hears_nothing() {
    let log = Log::listen();
    let office = Office::new();
    let cluster = office.two_nodes().await;
    let tls = Tls::load(office.issue(Role::Node, "node-3")).unwrap();
    let listener = cluster.instead_of("node-2").await;
    let impostor = async {
        let (stream, _) = listener.accept().await.unwrap();
        let (stream, _) = tls.accept(stream).await.unwrap();
        let mut impostor = Stranger::on(stream);
        // It says to be whoever is wanted.
        impostor.let_in(1).await;
        let declined: Declined = impostor.hear_text().await.unwrap();
        assert!(declined.refused.contains("node-3"), "{declined:?}");
        assert!(impostor.hear_text::<Ready>().await.is_none());
        drop(listener);
    };
    tokio::join!(asks_in_vain(&cluster), impostor);
    let reason = "its certificate is for `node-3`, but it says to be `node-2`";
    log.says(&["cannot connect", reason]).await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_node_does_not_start_with_the_certificate_of_somebody_else() {
    let office = Office::new();
    for (role, name) in [
        (Role::Node, "node-2"),
        (Role::Client, "node-1"),
        (Role::Admin, "node-1"),
    ] {
        let security = Security::tls(office.issue(role, name)).unwrap();
        let error = builder("node-1").fixed(secured(security)).start().await;
        let Err(StartError::Unfit(Unfit::OtherCertificate { certificate, .. })) = error else {
            panic!("{error:?}");
        };
        assert_eq!(certificate, format!("ostrakon://test/{role}/{name}"));
    }
    let other = Office::of("staging");
    let error = builder("node-1")
        .fixed(secured(other.node("node-1")))
        .start()
        .await;
    assert!(matches!(
        error,
        Err(StartError::Unfit(Unfit::OtherCertificate { .. }))
    ));
}
