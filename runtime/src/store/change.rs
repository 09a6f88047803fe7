//! The answer to a queued change.

use super::StoreError;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Why a change was not applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError<E> {
    /// The job refused; the store is well.
    #[error("{0}")]
    Refused(E),
    /// The store could not.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A change that is queued.
#[derive(Debug)]
pub struct Ticket<T, E> {
    answer: Receiver<Result<T, ChangeError<E>>>,
}

/// The other end of a ticket.
pub(crate) type Reply<T, E> = SyncSender<Result<T, ChangeError<E>>>;

impl<T, E> Ticket<T, E> {
    pub(crate) fn new() -> (Reply<T, E>, Self) {
        let (reply, answer) = sync_channel(1);
        (reply, Ticket { answer })
    }

    /// A change that was answered at once.
    pub(crate) fn answered(answer: Result<T, ChangeError<E>>) -> Self {
        let (reply, ticket) = Ticket::new();
        // The channel holds one answer, and the ticket is here: this cannot fail.
        let _ = reply.send(answer);
        ticket
    }

    /// Waits until the change is durable, or is known not to be applied.
    pub fn wait(self) -> Result<T, ChangeError<E>> {
        self.answer.recv().unwrap_or_else(|_| {
            Err(ChangeError::Store(StoreError::Engine(
                "a change panicked while it was decided; nothing of it was applied".into(),
            )))
        })
    }
}
