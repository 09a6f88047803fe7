//! The one writer: takes changes from a queue and commits several at a time.
//!
//! A change's write set is complete before its first put, so a refusal leaves the transaction as it
//! was and needs no nested one. Nobody is answered before the synced commit: neither the applied,
//! nor the refused, for a refusal may rest on what an earlier change of the batch wrote. If a batch
//! fails, nothing of it is applied, and each of its changes is decided once more, alone.

use super::change::{ChangeError, Reply, Ticket};
use super::lmdb::{LmdbReader, Shared};
use super::{StoreError, WriteSet};
use bumpalo::Bump;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// No more changes than this in one transaction: beyond it the rate hardly grows and waiting does.
const MAX_BATCH: usize = 1024;
/// No more dirty bytes than about this in one transaction, which are all held in memory.
const MAX_BATCH_BYTES: usize = 32 << 20;

/// The queue and its thread. Dropping it answers what is queued, then ends the thread.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: Option<Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(shared: Arc<Shared>) -> Result<Self, StoreError> {
        let (queue, jobs) = channel();
        let thread = std::thread::Builder::new()
            .name("querent-writer".into())
            .spawn(move || run(&shared, &jobs))
            .map_err(|source| StoreError::Io {
                what: "starting the writer".into(),
                source,
            })?;
        Ok(Writer {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    pub(crate) fn submit<T, E, F>(&self, job: F) -> Ticket<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: for<'t> FnMut(&LmdbReader<'t>) -> Result<(WriteSet, T), E> + Send + 'static,
    {
        let (reply, ticket) = Ticket::new();
        let job = Box::new(Typed {
            job,
            decided: None,
            reply,
        });
        match self.queue.as_ref().map(|queue| queue.send(job)) {
            Some(Ok(())) => ticket,
            _ => Ticket::answered(Err(ChangeError::Store(StoreError::Engine(
                "the writer has ended".into(),
            )))),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the writer was its own; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

/// A change, whatever its types.
trait Job: Send {
    /// Decides; none if it refuses.
    fn decide(&mut self, view: &LmdbReader<'_>) -> Option<WriteSet>;
    /// Answers with what was decided, or with the store's failure.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

struct Typed<F, T, E> {
    job: F,
    decided: Option<Result<T, E>>,
    reply: Reply<T, E>,
}

impl<F, T, E> Job for Typed<F, T, E>
where
    T: Send,
    E: Send,
    F: for<'t> FnMut(&LmdbReader<'t>) -> Result<(WriteSet, T), E> + Send,
{
    fn decide(&mut self, view: &LmdbReader<'_>) -> Option<WriteSet> {
        // A panic is the job's own: it is answered by the dropped reply, and the writer goes on.
        let run = AssertUnwindSafe(|| (self.job)(view));
        let (writes, decided) = match catch_unwind(run).ok()? {
            Ok((writes, value)) => (Some(writes), Ok(value)),
            Err(refusal) => (None, Err(refusal)),
        };
        self.decided = Some(decided);
        writes
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let answer = match (outcome, self.decided) {
            (Ok(()), Some(Ok(value))) => Ok(value),
            (Ok(()), Some(Err(refusal))) => Err(ChangeError::Refused(refusal)),
            (Err(error), _) => Err(ChangeError::Store(error)),
            (Ok(()), None) => return,
        };
        // Whoever asked may have stopped waiting.
        let _ = self.reply.send(answer);
    }
}

/// A change of a batch, and why its writes cannot be stored, found before the first of them.
struct Entry {
    job: Box<dyn Job>,
    unfit: Option<StoreError>,
}

fn run(shared: &Shared, jobs: &Receiver<Box<dyn Job>>) {
    let mut keys = Bump::new();
    while let Ok(first) = jobs.recv() {
        let mut batch = vec![Entry {
            job: first,
            unfit: None,
        }];
        let Err(error) = commit_batch(shared, &mut batch, jobs, &mut keys) else {
            answer_all(batch, None);
            continue;
        };
        if batch.len() == 1 || matches!(error, StoreError::Poisoned(_)) {
            answer_all(batch, Some(&error));
            continue;
        }
        for entry in batch {
            let mut alone = vec![entry];
            let outcome = commit_alone(shared, &mut alone, &mut keys);
            answer_all(alone, outcome.err().as_ref());
        }
    }
}

/// Decides and applies the first job and those that are queued behind it, in one transaction.
fn commit_batch(
    shared: &Shared,
    batch: &mut Vec<Entry>,
    jobs: &Receiver<Box<dyn Job>>,
    keys: &mut Bump,
) -> Result<(), StoreError> {
    let mut txn = shared.write_txn()?;
    let (mut done, mut bytes) = (0, 0);
    while let Some(entry) = batch.get_mut(done) {
        done += 1;
        bytes += apply(shared, &mut txn, entry, keys)?;
        if done < MAX_BATCH
            && bytes < MAX_BATCH_BYTES
            && let Ok(next) = jobs.try_recv()
        {
            batch.push(Entry {
                job: next,
                unfit: None,
            });
        }
    }
    finish(shared, txn, bytes)
}

fn commit_alone(shared: &Shared, alone: &mut [Entry], keys: &mut Bump) -> Result<(), StoreError> {
    let mut txn = shared.write_txn()?;
    let mut bytes = 0;
    for entry in alone {
        bytes += apply(shared, &mut txn, entry, keys)?;
    }
    finish(shared, txn, bytes)
}

/// Decides one job and puts what it writes; tells how many bytes (0: nothing).
fn apply(
    shared: &Shared,
    txn: &mut heed::RwTxn<'_>,
    entry: &mut Entry,
    keys: &mut Bump,
) -> Result<usize, StoreError> {
    keys.reset();
    let Some(writes) = entry.job.decide(&shared.reader(txn, keys)) else {
        return Ok(0);
    };
    entry.unfit = shared.check(&writes).err();
    if entry.unfit.is_some() {
        return Ok(0);
    }
    shared.put_all(txn, &writes)
}

/// A transaction that wrote nothing needs no commit.
fn finish(shared: &Shared, txn: heed::RwTxn<'_>, bytes: usize) -> Result<(), StoreError> {
    if bytes == 0 {
        txn.abort();
        return Ok(());
    }
    shared.commit(txn)
}

fn answer_all(batch: Vec<Entry>, error: Option<&StoreError>) {
    for Entry { job, unfit } in batch {
        job.answer(match (error, unfit) {
            (Some(error), _) => Err(error.again()),
            (None, Some(unfit)) => Err(unfit),
            (None, None) => Ok(()),
        });
    }
}
