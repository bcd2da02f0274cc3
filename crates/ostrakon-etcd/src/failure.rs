//! `Failure`: why a request was not answered as it should be, and whether it may have been carried out.
//!
//! Only two things are sure to have left nothing behind: a connection that never was, and a refusal that etcd decides on before it writes.
//! All else is unknown. That includes "database space exceeded": etcd says so also after the write that reached the limit, which stays.

use std::error::Error;

use etcd_client::Error as EtcdError;
use ostrakon_storage::{AppendError, Cause, OpenError, StorageError};
use tonic::{Code, ConnectError, Status};

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There was nobody to send it to.
    NotSent(Cause),
    /// etcd did nothing of it, and said why.
    Refused(Cause),
    /// It may have been carried out, or still be.
    Unknown(Cause),
}

impl Failure {
    /// It came before the request was sent, whatever it was.
    pub(crate) fn before_request(error: EtcdError) -> Self {
        match Self::from(error) {
            Self::Refused(source) => Self::Refused(source),
            Self::NotSent(source) | Self::Unknown(source) => Self::NotSent(source),
        }
    }

    pub(crate) fn append(self, place: &str) -> AppendError {
        let place = place.to_owned();
        match self {
            Self::NotSent(source) | Self::Refused(source) => {
                AppendError::Unavailable { place, source }
            }
            Self::Unknown(source) => AppendError::Unknown { place, source },
        }
    }

    /// `tried` is what was tried, as words that a place can follow.
    pub(crate) fn storage(self, place: &str, tried: &'static str) -> StorageError {
        let place = place.to_owned();
        let (Self::NotSent(source) | Self::Refused(source) | Self::Unknown(source)) = self;
        StorageError::Unavailable {
            place,
            tried,
            source,
        }
    }

    pub(crate) fn open(self, place: &str) -> OpenError {
        let place = place.to_owned();
        match self {
            Self::Refused(source) => OpenError::Denied { place, source },
            Self::NotSent(source) | Self::Unknown(source) => {
                OpenError::Unavailable { place, source }
            }
        }
    }
}

impl From<EtcdError> for Failure {
    fn from(error: EtcdError) -> Self {
        match error {
            EtcdError::GRpcStatus(status) => status.into(),
            // A channel, an address, a token: all of them come before a request.
            other @ (EtcdError::InvalidArgs(_)
            | EtcdError::InvalidUri(_)
            | EtcdError::InvalidMetadataValue(_)
            | EtcdError::EndpointError(_)
            | EtcdError::EndpointsNotManaged) => Self::NotSent(other.into()),
            other @ (EtcdError::IoError(_)
            | EtcdError::TransportError(_)
            | EtcdError::WatchError(_)
            | EtcdError::Utf8Error(_)
            | EtcdError::LeaseKeepAliveError(_)
            | EtcdError::ElectError(_)
            | EtcdError::Internal(_)) => Self::Unknown(other.into()),
        }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        if never_connected(&status) {
            Self::NotSent(status.into())
        } else if is_refusal(&status) {
            Self::Refused(status.into())
        } else {
            Self::Unknown(status.into())
        }
    }
}

fn never_connected(status: &Status) -> bool {
    let mut source = status.source();
    while let Some(error) = source {
        if error.is::<ConnectError>() {
            return true;
        }
        source = error.source();
    }
    false
}

/// The codes alone do not tell: a connection that breaks has some of them too, but not these words.
fn is_refusal(status: &Status) -> bool {
    let before_writing = matches!(
        status.code(),
        Code::InvalidArgument
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::FailedPrecondition
    );
    before_writing && status.message().starts_with("etcdserver: ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn only_a_connection_that_never_was_counts_as_not_sent() {
        let mut status = Status::unavailable("tcp connect error");
        assert!(matches!(Failure::from(status.clone()), Failure::Unknown(_)));
        status.set_source(Arc::new(ConnectError("refused".into())));
        assert!(matches!(Failure::from(status), Failure::NotSent(_)));
    }

    #[test]
    fn a_full_database_may_have_taken_the_write_that_filled_it() {
        let status = Status::resource_exhausted("etcdserver: mvcc: database space exceeded");
        assert!(matches!(Failure::from(status), Failure::Unknown(_)));
    }

    #[test]
    fn only_the_words_of_the_server_are_a_refusal() {
        let status = Status::permission_denied("etcdserver: permission denied");
        assert!(matches!(Failure::from(status), Failure::Refused(_)));
        let status = Status::permission_denied("h2 protocol error");
        assert!(matches!(Failure::from(status), Failure::Unknown(_)));
        let status = Status::unavailable("etcdserver: request timed out");
        assert!(matches!(Failure::from(status), Failure::Unknown(_)));
    }
}
