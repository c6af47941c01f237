//! A mailbox as it is after the process went away.
//!
//! What waited waits again. An item whose turn was under way is interrupted: it waits again only where
//! nothing that changes the world was begun for it.
//!
//! Must never: run an item a second time whose first turn may have done something.

use serde::{Deserialize, Serialize};

use super::{Act, Item, Mailbox, Waiting};

/// An item as it was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The item.
    pub item: Item,
    /// How far it came.
    pub status: Status,
}

/// How far an item came before the process went away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It waited.
    Pending,
    /// It was told to a turn, or its turn was under way.
    Processing {
        /// Whether a call that changes something was recorded for its turn.
        changed_something: bool,
    },
}

impl Mailbox {
    /// The mailbox with what was stored, oldest first; tick it once to go on.
    pub fn restored(kept: Vec<Kept>) -> (Self, Vec<Act>) {
        let mut mailbox = Self::default();
        let mut acts = Vec::new();
        for Kept { item, status } in kept {
            if mailbox.knows(&item.id) {
                acts.push(Act::Repeated { id: item.id });
                continue;
            }
            match status {
                Status::Pending => mailbox.put(item),
                Status::Processing { changed_something: false } => {
                    acts.push(Act::Interrupted { item: item.clone(), again: true });
                    mailbox.put(item);
                }
                Status::Processing { changed_something: true } => {
                    mailbox.settle(item.id.clone());
                    acts.push(Act::Interrupted { item, again: false });
                }
            }
        }
        (mailbox, acts)
    }

    fn put(&mut self, item: Item) {
        let number = self.next_number;
        self.next_number += 1;
        // It has been quiet for as long as the process was away.
        self.waiting.push_back(Waiting { number, item, since_ms: 0 });
    }
}
