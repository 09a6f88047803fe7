//! Failures injected at the boundary, for tests.

use super::StoreError;
use std::sync::atomic::{AtomicU64, Ordering};

/// Failures to come. Each is counted down and happens once; shared between a test and a store.
#[derive(Debug, Default)]
pub struct Faults {
    put: AtomicU64,
    full_commit: AtomicU64,
    sync: AtomicU64,
}

impl Faults {
    /// The `n`-th put or delete from now (the first is 1) fails as if the map were full.
    pub fn fail_put(&self, n: u64) {
        self.put.store(n, Ordering::SeqCst);
    }

    /// The `n`-th commit from now fails as if the disk were full: nothing is applied.
    pub fn fail_commit(&self, n: u64) {
        self.full_commit.store(n, Ordering::SeqCst);
    }

    /// The `n`-th commit from now fails as if its sync did, which poisons the store.
    pub fn fail_sync(&self, n: u64) {
        self.sync.store(n, Ordering::SeqCst);
    }

    pub(crate) fn on_put(&self) -> Result<(), StoreError> {
        if fires(&self.put) {
            return Err(StoreError::Full("an injected failure of a put".into()));
        }
        Ok(())
    }

    pub(crate) fn on_commit(&self) -> Result<(), StoreError> {
        if fires(&self.full_commit) {
            return Err(StoreError::Full("an injected failure of a commit".into()));
        }
        if fires(&self.sync) {
            return Err(StoreError::Poisoned("an injected failure of a sync".into()));
        }
        Ok(())
    }
}

/// Counts down; true when it reaches zero, and only then.
fn fires(count: &AtomicU64) -> bool {
    count.try_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)) == Ok(1)
}
