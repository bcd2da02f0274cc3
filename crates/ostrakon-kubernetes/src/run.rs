//! `Run`: which run of which container a node says it is.

use ostrakon_core::Registration;

/// From the place of a registration. All of it is a claim of the node, and is checked before it becomes part of a question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    /// Of the pod: the only name that is never given twice.
    pub(crate) uid: &'a str,
    /// Of the pod.
    pub(crate) name: Option<&'a str>,
    pub(crate) namespace: Option<&'a str>,
    /// The container's name in the pod.
    pub(crate) container: Option<&'a str>,
    /// The runtime's id of this run of the container.
    pub(crate) container_id: Option<&'a str>,
    /// What the node has written into the termination log.
    pub(crate) mark: Option<&'a str>,
}

impl<'a> Run<'a> {
    /// `None` if the node does not say which pod it is in.
    pub(crate) fn of(node: &'a Registration) -> Option<Self> {
        let said = |name: &str| {
            let value = node.place.get(name).map(String::as_str);
            value.filter(|value| !value.is_empty())
        };
        Some(Self {
            uid: said("kubernetes.pod_uid")?,
            name: said("kubernetes.pod").filter(|name| is_plain(name)),
            namespace: said("kubernetes.namespace").filter(|name| is_plain(name)),
            container: said("kubernetes.container"),
            container_id: said("kubernetes.container_id").map(without_runtime),
            mark: said("kubernetes.run").filter(|mark| mark.len() >= SHORTEST_MARK),
        })
    }

    /// Whether this is the id of the run's container.
    pub(crate) fn has_id(&self, id: Option<&str>) -> bool {
        self.container_id.is_some() && self.container_id == id.map(without_runtime)
    }

    /// Whether this is what was in the run's termination log.
    pub(crate) fn has_left(&self, message: Option<&str>) -> bool {
        let (Some(mark), Some(message)) = (self.mark, message) else {
            return false;
        };
        let mut marks = message
            .lines()
            .filter_map(|line| line.strip_prefix("ostrakon run "));
        marks.any(|left| left.trim_end() == mark)
    }
}

/// Whether it can be the name of an object. Anything else would change what is asked for.
fn is_plain(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    name.chars().all(is_allowed) && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// `containerd://4f2a` is the same as `4f2a`.
fn without_runtime(id: &str) -> &str {
    id.split_once("://").map_or(id, |(_, id)| id)
}

/// A shorter one could be in the log of another run by chance.
const SHORTEST_MARK: usize = 16;
