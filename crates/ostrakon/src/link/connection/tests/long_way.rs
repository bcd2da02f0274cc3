//! A large message on a way that takes long. Its time is the runtime's, which does not wait.

use std::time::Duration;

use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::*;

const THERE: Duration = Duration::from_millis(10);

/// Brings all bytes to the other end, each after [`THERE`].
async fn way(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let (leave, mut arrive) = mpsc::channel::<(Instant, Vec<u8>)>(1024);
    let leaving = async move {
        let mut bytes = Vec::with_capacity(64 * 1024);
        while from.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
            let arrives = Instant::now() + THERE;
            let bytes = std::mem::replace(&mut bytes, Vec::with_capacity(64 * 1024));
            leave.send((arrives, bytes)).await.unwrap();
        }
    };
    let arriving = async move {
        while let Some((arrives, bytes)) = arrive.recv().await {
            sleep_until(arrives).await;
            to.write_all(&bytes).await.unwrap();
        }
    };
    tokio::join!(leaving, arriving);
}

/// Reports every part as read, until the last one.
async fn read_parts(mut far: impl AsyncRead + AsyncWrite + Unpin) -> usize {
    let (mut bytes, mut message) = (Vec::new(), 0);
    loop {
        while let Some(length) = frame::length(&bytes).filter(|&length| length <= bytes.len()) {
            let Ok(Frame::Part { last, bytes: part }) = Frame::read(frame::body(&bytes[..length]))
            else {
                panic!("not a part");
            };
            message += part.len();
            let mut report = Vec::new();
            frame::put_parts_read(&mut report, part.len() as u64);
            if last {
                return message;
            }
            bytes.drain(..length);
            far.write_all(&report).await.unwrap();
        }
        far.read_buf(&mut bytes).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_message_takes_few_round_trips() {
    const SIZE: usize = 3 << 20;
    let (hub, link) = connected().await;
    let (near, here) = tokio::io::duplex(SIZE);
    let (there, far) = tokio::io::duplex(SIZE);
    let mut connection = Connection::new(&hub, &link, SESSION, Box::new(near));
    let _asked = ask_with(&link, &vec![7; SIZE]);
    let began = Instant::now();
    let (from_here, to_here) = tokio::io::split(here);
    let (from_there, to_there) = tokio::io::split(there);
    let read = tokio::select! {
        end = std::future::poll_fn(|cx| connection.poll(cx)) => panic!("{end}"),
        () = way(from_here, to_there) => panic!("the way has ended"),
        () = way(from_there, to_here) => panic!("the way back has ended"),
        read = read_parts(far) => read,
    };
    assert!(read > SIZE);
    // With the smallest window all the time it would be 48 of them.
    let round_trips = began.elapsed().as_millis() / (2 * THERE).as_millis();
    assert!((8..16).contains(&round_trips), "{round_trips}");
}
