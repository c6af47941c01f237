//! Restores a mailbox after its process ended.
//!
//! Items that waited wait again, and notices about dropped items are still due. A running turn
//! continues by itself: its run resumes from the record, so that no work runs a second time.
//!
//! Must never: queue an item twice.

use agentry_protocol::TurnId;

use super::{Mailbox, MailboxAction, MailboxItem, MailboxSender, MailboxTurn, QueuedItem, State};

impl Mailbox {
    /// Restores a mailbox from waiting items, oldest first, and the turn that continues, if it
    /// began; tick it once to continue. The next prompt of their sender lists the `dropped` items.
    pub fn restored(
        waiting: Vec<MailboxItem>,
        dropped: &[MailboxItem],
        running: Option<(Option<TurnId>, MailboxSender)>,
    ) -> (Self, Vec<MailboxAction>) {
        let mut mailbox = Self::default();
        let mut acts = Vec::new();
        for item in dropped {
            mailbox.note_of(&item.sender).add(item, item.settings.cap);
            mailbox.settle(item.id.clone());
        }
        for item in waiting {
            if mailbox.knows(&item.id) {
                acts.push(MailboxAction::Repeated { id: item.id });
            } else {
                mailbox.put(item);
            }
        }
        if let Some((turn, sender)) = running {
            let work = MailboxTurn { sender, stop: None };
            mailbox.state = match turn {
                Some(turn) => State::Running { turn, work, compacting: false },
                None => State::Starting { work, note: None },
            };
        }
        (mailbox, acts)
    }

    fn put(&mut self, item: MailboxItem) {
        let number = self.next_number;
        self.next_number += 1;
        // The quiet time includes the time without a process.
        self.waiting.push_back(QueuedItem { number, item, since_ms: 0 });
    }
}
