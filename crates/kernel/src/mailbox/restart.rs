//! A mailbox as it is after the process went away.
//!
//! What waited waits again, and what was dropped with a promise is still told. A turn that was under way
//! goes on by itself: its run is taken up where it was, so that nothing is run a second time.
//!
//! Must never: put an item in line twice.

use agentry_protocol::TurnId;

use super::{Mailbox, MailboxAction, MailboxItem, MailboxSender, MailboxTurn, QueuedItem, State};

impl Mailbox {
    /// The mailbox with what waited, oldest first, and the turn that goes on, if it began; tick it once to
    /// go on. `dropped` are those that the next prompt of their sender has a line about.
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
        // It has been quiet for as long as the process was away.
        self.waiting.push_back(QueuedItem { number, item, since_ms: 0 });
    }
}
