//! The session store: which conversations there are, so that any of them can go on later.
//!
//! It owns everything below the state directory and nothing else does. It keeps settings, ids, times and sums, never a
//! prompt or an answer unless a transcript was asked for. It spawns nothing, prints nothing and knows no backend.
//!
//! ```text
//! sessions/<shard>/<key>.json     the truth: one record a conversation, its last whole line
//! names/, native/, cwd/           small pointers to keys: checked against the record, ignored when stale
//! recent                          one line a use, newest last: a cache of the order, made again when missing
//! locks/<id>.lock                 held by the run that has the conversation
//! transcripts/<shard>/<key>.jsonl only with `--keep-transcript`
//! tmp/                            files on their way to a rename
//! ```
//!
//! A record is added to its file as a line and synced, or, where there is no file or a long one, written to `tmp/`,
//! synced and renamed: a crash at any byte leaves the old one or the new one.
//! Pointers and the line in `recent` are written before the record that they point to: a crash between the two leaves a
//! stale pointer, never a record that cannot be found.

mod claim;
mod damaged;
mod file;
mod index;
mod journal;
mod key;
mod lock;
mod path_text;
mod place;
mod prune;
mod record;
mod remove;
mod resolve;
mod store;
mod transcript;

pub use claim::Claim;
pub use damaged::Damaged;
pub use key::Key;
pub use lock::{Guard, LockId, Wait};
pub use place::nowhere;
pub use prune::{DamagedPolicy, Policy, PruneMode, PruneReport};
pub use record::{Outcome, Record, TranscriptPolicy};
pub use remove::Removal;
pub use resolve::Resolution;
pub(crate) use resolve::one_line;
pub use store::{Filter, Listing, Store, Unsynced};
pub use transcript::Exchange;
