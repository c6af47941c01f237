//! Hooks in every state and every order: what they may answer, and what must hold of it.

use agentry_bthread::explore::BrokenProperty;
use agentry_kernel::turn::signal::{CallSummary, HookVerdict, Signal};
use agentry_protocol::event::Mode;
use agentry_protocol::verdict::Verdict;

use super::{
    CALLS, CallState, EVERYWHERE, FINISH, HOOKS, Hearing, KINDS, NOTHING, OUTCOMES, Outside, Plan,
    REVIEWED, Seen, WATCHED, broken, walk_all,
};

impl Outside {
    /// What hooks may answer now.
    pub(super) fn answers_of_hooks(&self) -> Vec<Signal> {
        let next = (self.plan.nexts > 0).then_some(HookVerdict::Next);
        let opinions = |some: &[HookVerdict]| some.iter().copied().chain(next).collect::<Vec<_>>();
        let gate =
            opinions(&[HookVerdict::Clear, HookVerdict::Ask, HookVerdict::Deny, HookVerdict::Halt]);
        let mut signals = Vec::new();
        for (call, seen) in &self.calls {
            if seen.before == Hearing::UnderWay && seen.state == CallState::Proposed {
                signals.extend(gate.iter().map(|one| Signal::Consulted(seen.subject, *one)));
                let verdicts = [Verdict::Allow, Verdict::Ask, Verdict::Deny];
                let changed = verdicts.into_iter().filter(|_| self.plan.edits > 0).map(|verdict| {
                    let standing = verdict == Verdict::Ask && !seen.subject.standing;
                    CallSummary { verdict, standing, ..seen.subject }
                });
                let asks = changed.clone().map(|one| Signal::Consulted(one, HookVerdict::Ask));
                signals.extend(changed.map(|one| Signal::Consulted(one, HookVerdict::Clear)));
                signals.extend(asks);
            }
            if seen.after == Hearing::UnderWay {
                let after = opinions(&[HookVerdict::Clear, HookVerdict::Halt]);
                signals.extend(after.into_iter().map(|one| Signal::Watched(*call, one)));
            }
        }
        if let Some(number) = self.reviewing {
            let finish = opinions(&[HookVerdict::Clear, HookVerdict::Deny, HookVerdict::Halt]);
            signals.extend(finish.into_iter().map(|one| Signal::Reviewed(number, one)));
        }
        signals
    }

    pub(super) fn offered_hook(&mut self, event: &Signal) {
        match event {
            Signal::Consulted(subject, opinion) => {
                self.plan.nexts -= u8::from(*opinion == HookVerdict::Next);
                let Some(seen) = self.calls.get_mut(&subject.call) else { return };
                seen.before = Hearing::Answered;
                self.plan.edits -= u8::from(seen.subject != *subject);
            }
            Signal::Watched(call, opinion) => {
                self.plan.nexts -= u8::from(*opinion == HookVerdict::Next);
                let Some(seen) = self.calls.get_mut(call) else { return };
                seen.after = Hearing::Answered;
            }
            Signal::Reviewed(_, opinion) => {
                self.plan.nexts -= u8::from(*opinion == HookVerdict::Next);
                self.reviewing = None;
            }
            _ => {}
        }
    }

    fn pass(&self) -> Result<(), BrokenProperty> {
        let unseen = |seen: &Seen| {
            let settled = seen.state == CallState::Settled && seen.made;
            settled && seen.subject.watched && seen.after != Hearing::Clear
        };
        if self.calls.values().any(unseen) {
            broken(WATCHED, "an outcome is passed that no hook has seen")
        } else {
            Ok(())
        }
    }

    pub(super) fn saw_hook(&mut self, event: &Signal) -> Result<(), BrokenProperty> {
        match event {
            Signal::Consult(call) => {
                self.new_work("a hook")?;
                let Some(seen) = self.calls.get_mut(call) else { return Ok(()) };
                let refused = seen.subject.verdict == Verdict::Deny || seen.subject.dangerous;
                if refused || seen.before != Hearing::Due || seen.state != CallState::Proposed {
                    return broken(HOOKS, "a hook is heard about a call that is decided");
                }
                seen.before = Hearing::UnderWay;
            }
            Signal::Consulted(subject, opinion) => {
                self.halted |= *opinion == HookVerdict::Halt;
                let Some(seen) = self.calls.get_mut(&subject.call) else { return Ok(()) };
                seen.subject = *subject;
                seen.insisted |= *opinion == HookVerdict::Ask;
                seen.before = match opinion {
                    HookVerdict::Next => Hearing::Due,
                    HookVerdict::Clear | HookVerdict::Ask => Hearing::Clear,
                    HookVerdict::Deny | HookVerdict::Halt => Hearing::Answered,
                };
            }
            Signal::Watch(call) => {
                self.new_work("a hook")?;
                let Some(seen) = self.calls.get_mut(call) else { return Ok(()) };
                seen.after = Hearing::UnderWay;
            }
            Signal::Watched(call, opinion) => {
                self.halted |= *opinion == HookVerdict::Halt;
                let Some(seen) = self.calls.get_mut(call) else { return Ok(()) };
                let more = *opinion == HookVerdict::Next;
                seen.after = if more { Hearing::Due } else { Hearing::Clear };
            }
            Signal::Review(number) => {
                self.new_work("a hook")?;
                if self.unread || (self.mode == Mode::Autonomous && !self.passed) {
                    return broken(REVIEWED, "hooks are heard before all else is ready");
                }
                self.reviewing = Some(*number);
            }
            Signal::Reviewed(_, opinion) => {
                self.halted |= *opinion == HookVerdict::Halt;
                self.let_go = *opinion == HookVerdict::Clear;
            }
            Signal::Pass(_) => self.pass()?,
            Signal::Steered | Signal::ModeWanted(..) => {
                self.reviewing = None;
                self.let_go = false;
            }
            Signal::GoOn => self.reviewing = None,
            Signal::Stop(_) => {
                self.reviewing = None;
                for seen in self.calls.values_mut() {
                    seen.before = Hearing::Answered;
                    seen.after = Hearing::Answered;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[test]
fn all_properties_hold_with_hooks_too() {
    let both = &[Mode::Supervised, Mode::Autonomous][..];
    let one = Plan { replies: 1, calls: 1, kinds: KINDS.len(), limits: (2, 2, 1), ..NOTHING };
    let two = Plan { calls: 2, kinds: 2, ..one.clone() };
    let walks = [
        (
            "hooks, before calls",
            Plan { moments: CALLS, modes: 1, edits: 1, nexts: 1, forbids: 1, ..one.clone() },
            both,
        ),
        (
            "hooks, to and fro",
            Plan { moments: CALLS, modes: 2, cancels: 1, edits: 1, kinds: 2, ..one.clone() },
            both,
        ),
        ("hooks, two calls", Plan { moments: CALLS, cancels: 1, modes: 1, ..two.clone() }, both),
        ("hooks, outcomes", Plan { moments: OUTCOMES, cancels: 1, nexts: 1, ..two }, both),
        (
            "hooks, finish",
            Plan {
                moments: FINISH,
                cancels: 1,
                steers: 1,
                modes: 1,
                kinds: 2,
                limits: (3, 2, 2),
                ..one.clone()
            },
            both,
        ),
        (
            "hooks, everywhere",
            Plan { moments: EVERYWHERE, cancels: 1, steers: 1, nexts: 1, ..one },
            both,
        ),
    ];
    walk_all(&walks);
}
