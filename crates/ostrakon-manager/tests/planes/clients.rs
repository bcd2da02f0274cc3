//! Nodes that host nothing.

use ostrakon::{AskError, GroupName, TellError};

use crate::{
    actors::note,
    citizen::{Citizen, CitizenMessage, Ghost, numbers},
    cluster::{Cluster, up},
};

pub(crate) async fn a_client_asks_streams_and_publishes(cluster: Cluster) {
    let client = cluster.client().start().await.unwrap();
    for id in 0..20 {
        let citizen = client.entity::<Citizen>(format!("citizen-{id}"));
        assert_eq!(citizen.note(7).await, Ok(1));
        citizen.tell().note(8).await.unwrap();
        assert_eq!(citizen.notes().await, Ok(vec![7, 8]));
        assert_ne!(citizen.node().await.unwrap(), "client-1");
    }
    let mut stream = numbers(&client.entity::<Citizen>("a"), 300).await.unwrap();
    for number in 0..300 {
        assert_eq!(stream.next().await, Some(Ok(number)));
    }
    assert_eq!(stream.next().await, None);

    for node in &cluster.nodes {
        node.join_topic("news", Citizen::default()).unwrap();
    }
    let news = client.topic::<Citizen>("news");
    let told = news.tell(|| note(1)).await;
    assert_eq!(told.len(), cluster.nodes.len(), "{told:?}");
    let answers = news.ask(|reply| CitizenMessage::Notes { reply }).await;
    assert_eq!(answers.len(), cluster.nodes.len());
    assert!(answers.into_values().all(|notes| notes == Ok(vec![1])));

    // Nobody takes it for a node that could host something.
    for node in cluster.nodes.iter().chain([&client]) {
        assert_eq!(up(&node.topology()), cluster.names());
    }
    client.leave().await.unwrap();
}

pub(crate) async fn a_client_learns_that_nobody_hosts_a_kind(cluster: Cluster) {
    let client = cluster.client().reach::<Ghost>(GroupName::default());
    let client = client.start().await.unwrap();
    let asked = client.entity::<Ghost>("a").haunt().await;
    let kind = "ghost".to_owned();
    let unknown = AskError::NotSent(TellError::UnknownKind { kind });
    assert_eq!(asked, Err(unknown));
    client.leave().await.unwrap();
}
