//! `Verdict`: what the status of a pod says about a run. No I/O.
//!
//! A status is what the host of the pod reported last. It may be old, but it never runs ahead: what it says has ended has ended. The only
//! question is whether that was the run of the node, or one before it.

use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};

use crate::run::Run;

/// What is known, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Alive,
    Dead(String),
    Unknown(&'static str),
}

impl Verdict {
    pub(crate) fn of(run: &Run<'_>, pod: &Pod) -> Self {
        if pod.metadata.uid.as_deref() != Some(run.uid) {
            return Self::Unknown(
                "another pod has its name now, which does not prove that its container has stopped",
            );
        }
        match container(run, pod) {
            Some(_) if shares_processes(pod) => Self::Unknown(
                "its pod shares its processes, and they may outlive the one that its container ended with",
            ),
            Some(status) => Self::of_container(run, pod, status),
            None => Self::Unknown("its pod has no status of its container"),
        }
    }

    fn of_container(run: &Run<'_>, pod: &Pod, status: &ContainerStatus) -> Self {
        let (now, before) = (status.state.as_ref(), status.last_state.as_ref());
        let ended = now.and_then(|state| state.terminated.as_ref());
        let ended_before = before.and_then(|state| state.terminated.as_ref());
        let is_running = now.is_some_and(|state| state.running.is_some());

        let is_this = |end: &&ContainerStateTerminated| is_certain(end) && is_end_of(run, end);
        if let Some(end) = [ended, ended_before].into_iter().flatten().find(is_this) {
            return Self::Dead(describe(run, status, end));
        }
        match ended {
            Some(end) if is_certain(end) && is_over(pod) => Self::Dead(describe(run, status, end)),
            Some(_) => Self::Unknown(
                "a run of its container has ended, but it is not known to be this one: it may have begun again",
            ),
            None if is_running && is_present(run, status) => Self::Alive,
            None => Self::Unknown("its container may have restarted since it began"),
        }
    }
}

/// If the node does not say which, it must be the only one.
fn container<'a>(run: &Run<'_>, pod: &'a Pod) -> Option<&'a ContainerStatus> {
    let statuses = pod.status.as_ref()?.container_statuses.as_deref()?;
    match (run.container, statuses) {
        (Some(name), _) => statuses.iter().find(|status| status.name == name),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

/// A container's processes end with its first one because they have a process-id space of their own. Here they do not.
fn shares_processes(pod: &Pod) -> bool {
    let spec = pod.spec.as_ref();
    spec.is_none_or(|spec| {
        spec.host_pid == Some(true) || spec.share_process_namespace == Some(true)
    })
}

/// Hosts also write down ends that they did not see: the runtime no longer knew the container.
fn is_certain(end: &ContainerStateTerminated) -> bool {
    let is_guess = matches!(
        end.reason.as_deref(),
        Some("ContainerStatusUnknown" | "Unknown")
    );
    !is_guess && end.container_id.as_ref().is_some_and(|id| !id.is_empty())
}

fn is_end_of(run: &Run<'_>, end: &ContainerStateTerminated) -> bool {
    run.has_id(end.container_id.as_deref()) || run.has_left(end.message.as_deref())
}

/// Whether the host has said that nothing of the pod will start again. The control plane says it too, of pods on hosts that it has lost,
/// and marks them as disrupted.
fn is_over(pod: &Pod) -> bool {
    pod.status.as_ref().is_some_and(|status| {
        let has_ended = matches!(status.phase.as_deref(), Some("Succeeded" | "Failed"));
        let mut conditions = status.conditions.iter().flatten();
        has_ended && !conditions.any(|condition| condition.type_ == "DisruptionTarget")
    })
}

/// Whether what runs now is the run of the node.
fn is_present(run: &Run<'_>, status: &ContainerStatus) -> bool {
    match run.container_id {
        Some(_) => run.has_id(status.container_id.as_deref()),
        None => status.restart_count == 0,
    }
}

fn describe(run: &Run<'_>, status: &ContainerStatus, end: &ContainerStateTerminated) -> String {
    let (container, pod) = (&status.name, run.uid);
    let reason = end.reason.as_deref().unwrap_or("no reason given");
    let (code, id) = (
        end.exit_code,
        end.container_id.as_deref().unwrap_or_default(),
    );
    format!("container {container} ({id}) of pod {pod} has terminated: {reason}, exit code {code}")
}
