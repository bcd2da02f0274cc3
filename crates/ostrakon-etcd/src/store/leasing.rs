//! Leases: counted up by nodes, begun and ended by appends.

use etcd_client::{Compare, CompareOp, GetOptions, KeyValue, Txn, TxnOp};
use ostrakon_core::Incarnation;
use ostrakon_storage::{Renewal, Renewed};

use super::Store;
use crate::counted;
use crate::trouble::Trouble;

impl Store {
    pub(crate) async fn renew(
        &self,
        incarnation: Incarnation,
        renewal: Renewal,
    ) -> Result<Renewed, Trouble> {
        let key = self.keys.lease(incarnation);
        // A lease that is not there is not less than anything.
        let is_newer = Compare::value(key.clone(), CompareOp::Less, counted::least(renewal.seq));
        let count = TxnOp::put(key.clone(), counted::text(renewal), None);
        let look = TxnOp::get(key, Some(GetOptions::new().with_keys_only()));
        let txn = Txn::new()
            .when([is_newer])
            .and_then([count])
            .or_else([look]);
        let outcome = self.servers.transact(txn).await?;
        match outcome.held || !outcome.found[0].is_empty() {
            true => Ok(Renewed::Counted),
            false => Ok(Renewed::Ended),
        }
    }

    pub(crate) async fn leases(&self) -> Result<Vec<(Incarnation, Renewal)>, Trouble> {
        let all = GetOptions::new().with_prefix();
        let all = TxnOp::get(self.keys.leases(), Some(all));
        let found = self.look([all]).await?.found;
        found[0].iter().map(|lease| self.lease(lease)).collect()
    }

    fn lease(&self, lease: &KeyValue) -> Result<(Incarnation, Renewal), Trouble> {
        let (key, text) = (String::from_utf8_lossy(lease.key()), lease.value());
        let incarnation = self.keys.incarnation(&key);
        let renewal = counted::renewal(&String::from_utf8_lossy(text));
        let lease = incarnation.zip(renewal);
        lease.ok_or_else(|| Trouble::unreadable(&self.place, key, "it is not a lease"))
    }
}
