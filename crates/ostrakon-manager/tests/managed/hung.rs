//! Nodes that are there and do nothing, and nodes of which others say so.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use ostrakon::{AskError, GroupName, Hosting, Managed, Node, entity};
use ostrakon_control::Seat;
use ostrakon_core::{
    Failover, Incarnation, LeaseTimes, LeaseTiming, Liveness, NodeName, Policy, Registration,
    ToCoordinator,
};
use ostrakon_faults::Proxy;
use ostrakon_health::{BoxFuture, Health};
use ostrakon_manager::{Manager, ManagerSettings, View, Wish};
use tokio::{sync::Notify, time::Instant};

use crate::{
    callers::{Caller, registration},
    cluster::{Counter, manager, node, spread, until},
};

fn run_of(view: &View, name: &str) -> Option<Incarnation> {
    let mut members = view.state().members();
    let found = members.find(|(_, member)| member.registration.name.as_str() == name);
    found.map(|(run, _)| run)
}

fn share_of(view: &View, name: &str) -> usize {
    let spread = spread(view).into_iter();
    spread
        .filter(|(node, _)| node == name)
        .map(|(_, n)| n)
        .sum()
}

/// It registers as a node of this cluster, and never says anything again.
async fn hangs(manager: &Manager, name: &str) -> Caller {
    let hung = Caller::call(manager.address().unwrap(), name, Seat::Node).await;
    let ToCoordinator::Register {
        mut registration,
        slack,
    } = registration(name, 4711)
    else {
        unreachable!()
    };
    let groups = {
        let view = manager.desk().view();
        let groups = view.state().groups().map(|group| group.spec.clone());
        groups.collect::<Vec<_>>()
    };
    registration.groups = groups;
    hung.say(ToCoordinator::Register {
        registration,
        slack,
    });
    until(manager, "it has joined", |view| {
        run_of(view, name).is_some()
    })
    .await;
    hung
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_hangs_with_its_shards_does_not_hold_up_the_others() {
    let manager = Manager::start(ManagerSettings {
        policy: ostrakon_core::Policy {
            failover: ostrakon_core::Failover::Proof,
            rebalance_every: Duration::from_secs(1),
            ..Default::default()
        },
        ..ManagerSettings::default()
    });
    let manager = manager.await.unwrap();
    let one = node("mover-1", &manager).await;
    until(&manager, "all shards", |view| {
        share_of(view, "mover-1") == 300
    })
    .await;
    let _hung = hangs(&manager, "hung").await;
    until(&manager, "its share", |view| share_of(view, "hung") > 0).await;
    let hung = run_of(&manager.desk().view(), "hung").unwrap();
    until(&manager, "its silence", |view| {
        view.silent().contains(&hung)
    })
    .await;
    // Everything else moves from one node to another meanwhile, and is served.
    let two = node("mover-2", &manager).await;
    let began = Instant::now();
    let wish = Wish::Drain {
        node: NodeName::new("mover-1").unwrap(),
    };
    manager.desk().wish(wish).await.unwrap();
    until(&manager, "the move", |view| {
        let kept = share_of(view, "hung");
        share_of(view, "mover-1") == 0 && share_of(view, "mover-2") == 300 - kept
    })
    .await;
    println!("everything moved in {:?}", began.elapsed());
    assert!(
        share_of(&manager.desk().view(), "hung") > 0,
        "it keeps its own"
    );
    let mut served = 0;
    for id in 0..50 {
        let id = format!("counter-{id}");
        let place = two.locate("counter", &id).ok();
        if place.is_some_and(|place| place.node.as_str() == "mover-2") {
            assert_eq!(two.entity::<Counter>(&id).add(1).await.unwrap(), 1);
            served += 1;
        }
    }
    assert!(served > 0);
    drop(one);
}

/// Knows nothing, and remembers when it was asked.
#[derive(Default)]
struct Asked(Mutex<Vec<(String, Instant)>>);

impl Health for Asked {
    fn name(&self) -> &str {
        "asked"
    }

    fn probe<'a>(&'a self, registration: &'a Registration) -> BoxFuture<'a, Liveness> {
        let name = registration.name.to_string();
        self.0.lock().unwrap().push((name, Instant::now()));
        Box::pin(std::future::ready(Liveness::Unknown))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_many_say_that_a_node_cannot_be_reached_it_is_probed_now_and_then() {
    let asked = Arc::new(Asked::default());
    let manager = Manager::start(ManagerSettings {
        health: Arc::clone(&asked) as Arc<dyn Health>,
        ..ManagerSettings::default()
    });
    let manager = manager.await.unwrap();
    let address = manager.address().unwrap();
    let _one = node("suspect", &manager).await;
    let incarnation = run_of(&manager.desk().view(), "suspect").unwrap();
    let mut reporters = Vec::new();
    for number in 0..5 {
        let name = format!("reporter-{number}");
        reporters.push(Caller::call(address, &name, Seat::Node).await);
    }
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(5) {
        for reporter in &reporters {
            reporter.say(ToCoordinator::Unreachable { incarnation });
            // One that never was is nobody's business.
            let incarnation = Incarnation::new(999_999);
            reporter.say(ToCoordinator::Unreachable { incarnation });
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let asked = asked.0.lock().unwrap();
    assert!(asked.iter().all(|(name, _)| name == "suspect"));
    // A thousand reports; the pauses between two questions begin with a tenth of a second and double.
    assert!((4..=7).contains(&asked.len()), "{}", asked.len());
    let pauses: Vec<_> = asked.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    assert!(pauses.is_sorted(), "{pauses:?}");
    drop(asked);
    // It is alive, whatever they say.
    assert_eq!(run_of(&manager.desk().view(), "suspect"), Some(incarnation));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_accepts_and_never_answers_is_hung_up_on_in_time() {
    let manager = manager().await;
    let _one = node("present", &manager).await;
    let mut hung = hangs(&manager, "absent").await;
    let began = Instant::now();
    // It hears everything that it is told, and does not even say that it is there.
    let ended = tokio::time::timeout(Duration::from_secs(25), &mut hung.over).await;
    assert!(ended.is_ok(), "nobody hangs up");
    assert!(began.elapsed() > Duration::from_secs(10));
}

/// Takes what it is told, and never has an answer.
struct Brooder {
    has_begun: Arc<Notify>,
}

#[entity(kind = "brooder")]
impl Brooder {
    async fn brood(&self) {
        self.has_begun.notify_one();
        std::future::pending().await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_an_answer_of_a_node_whose_lease_is_over() {
    let times = LeaseTimes {
        renew: Duration::from_millis(200),
        hold: Duration::from_millis(600),
        slack: Duration::from_millis(300),
        wait: Duration::from_millis(1200),
        drift_permille: 100,
    };
    let lease = LeaseTiming::new(times).unwrap();
    let manager = Manager::start(ManagerSettings {
        policy: Policy {
            failover: Failover::Lease(lease),
            ..Policy::default()
        },
        ..ManagerSettings::default()
    });
    let manager = manager.await.unwrap();
    let line = Proxy::to(manager.address().unwrap()).unwrap();
    let managed = Managed::from(line.address()).slack(times.slack);
    let node = Node::builder("silenced").managed(managed);
    let begun = Arc::new(Notify::new());
    let has_begun = Arc::clone(&begun);
    let node = node.host_with(Hosting::default(), move |_| Brooder {
        has_begun: Arc::clone(&has_begun),
    });
    let _node = node.start().await.unwrap();
    until(&manager, "its shards", |view| {
        share_of(view, "silenced") == 300
    })
    .await;
    let client = Node::builder("client").managed(Managed::from(manager.address().unwrap()));
    let client = client.reach::<Brooder>(GroupName::default());
    let client = client.start().await.unwrap();
    let brooder = client
        .entity::<Brooder>("a")
        .within(Duration::from_secs(600));
    let asked = tokio::spawn(async move { brooder.brood().await });
    begun.notified().await;
    // The manager hears nothing of it any more, and it rests. Those who ask it are still connected.
    line.stall();
    let lost = tokio::time::timeout(Duration::from_secs(30), asked).await;
    let lost = lost.expect("nobody waits for ten minutes").unwrap();
    assert!(matches!(lost, Err(AskError::Lost { .. })), "{lost:?}");
}
