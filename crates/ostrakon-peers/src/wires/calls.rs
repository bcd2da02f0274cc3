//! `Calls`: the questions that wait for an answer.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ostrakon_core::Address;
use tokio::sync::oneshot;

use crate::CallError;

/// So many may wait.
const MOST: usize = 4096;

type Outcome = Result<Vec<u8>, CallError>;

#[derive(Default)]
pub(super) struct Calls(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    last: u64,
    calls: BTreeMap<u64, Call>,
}

struct Call {
    to: Address,
    /// By which connection it went, once it did: the answer comes by the same.
    by: Option<u64>,
    answer: oneshot::Sender<Outcome>,
}

/// A question; when it is dropped, nobody waits for the answer any more.
pub(super) struct Asked<'a> {
    calls: &'a Calls,
    number: u64,
    answer: Option<oneshot::Receiver<Outcome>>,
}

impl Calls {
    pub(super) fn ask(&self, to: &Address) -> Result<Asked<'_>, CallError> {
        let mut waiting = self.waiting();
        if waiting.calls.len() >= MOST {
            return Err(CallError::TooMany(MOST));
        }
        let (answer, answered) = oneshot::channel();
        waiting.last += 1;
        let number = waiting.last;
        let call = Call {
            to: to.clone(),
            by: None,
            answer,
        };
        waiting.calls.insert(number, call);
        Ok(Asked {
            calls: self,
            number,
            answer: Some(answered),
        })
    }

    pub(super) fn answered(&self, number: u64, response: Vec<u8>) {
        if let Some(call) = self.waiting().calls.remove(&number) {
            // Who asked may have given up.
            let _ = call.answer.send(Ok(response));
        }
    }

    /// What has waited for a connection to this address went by this one.
    pub(super) fn went_by(&self, address: &Address, connection: u64) {
        for call in self.waiting().calls.values_mut() {
            if call.by.is_none() && call.to == *address {
                call.by = Some(connection);
            }
        }
    }

    /// Nobody can be reached at this address.
    pub(super) fn unreachable(&self, address: &Address, trouble: &str) {
        let error = CallError::Unreachable(trouble.to_owned());
        self.fail(&error, |call| call.by.is_none() && call.to == *address);
    }

    /// This connection is no more.
    pub(super) fn broken(&self, connection: u64) {
        self.fail(&CallError::Broken, |call| call.by == Some(connection));
    }

    fn fail(&self, error: &CallError, which: impl Fn(&Call) -> bool) {
        let mut waiting = self.waiting();
        for (_, call) in waiting.calls.extract_if(.., |_, call| which(call)) {
            let _ = call.answer.send(Err(error.clone()));
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked<'_> {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn went_by(&self, connection: u64) {
        if let Some(call) = self.calls.waiting().calls.get_mut(&self.number) {
            call.by = Some(connection);
        }
    }

    pub(super) async fn answer(mut self) -> Outcome {
        match self.answer.take() {
            Some(answer) => answer.await.unwrap_or(Err(CallError::Stopped)),
            None => Err(CallError::Stopped),
        }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.calls.waiting().calls.remove(&self.number);
    }
}
