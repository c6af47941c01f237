//! Translates the choices of a turn's program into moves with texts, outcomes and hashes.
//!
//! Must never: choose.

use agentry_protocol::approval::ApprovalAnswer;
use agentry_protocol::call_facts::CallDependency;
use agentry_protocol::event::{CallEdit, Permit};
use agentry_protocol::message::{Message, ModelReply};
use agentry_protocol::tool_call::{OutcomeStatus, ToolCall, ToolOutcome};
use agentry_protocol::verdict::Verdict;
use agentry_protocol::{ApprovalId, ContentHash, ContentHasher, SkillId};

use super::signal::{CallRefusal, CallSummary};
use super::{CHECK_QUESTION, CallRecord, RequestPurpose, Turn};
use crate::limits::{EDIT_CHARS_MAX, QUESTIONS_MAX};
use crate::moves::Move;

/// The name of the tool by which a model loads a skill.
pub(super) const LOAD_SKILL: &str = "load_skill";

impl Turn {
    pub(super) fn record(&mut self, number: u64) -> &mut CallRecord {
        let at = usize::try_from(number).expect("a call's number is its place in a list");
        &mut self.calls[at]
    }

    pub(super) fn ask_model(&mut self, asked: RequestPurpose) -> Move {
        self.say_hooks();
        for content in self.steers.drain(..) {
            self.talk.say(Message::user(content));
        }
        let check = matches!(asked, RequestPurpose::Check(_));
        if check {
            self.talk.say(Message::user(CHECK_QUESTION));
        }
        self.open.steps += 1;
        self.open.asked.insert(self.open.steps, asked);
        let (request, bytes) = self.talk.digest();
        Move::AskModel { step: self.open.steps, request, bytes, check }
    }

    pub(super) fn begin_check(&mut self, number: u64) -> Move {
        // A check needs no approval; without a sandbox for its command the model is asked instead.
        let command =
            self.charter.check.clone().filter(|_| !self.charter.authority.is_unconfined());
        let Some(command) = command else {
            return self.ask_model(RequestPurpose::Check(number));
        };
        let iteration = u32::try_from(number).unwrap_or(u32::MAX);
        self.open.check = Some(iteration);
        Move::RunCheck { iteration, command }
    }

    pub(super) fn run_call(&mut self, subject: &CallSummary) -> Move {
        let (standing, under) = (self.plan.standing.clone(), self.plan.under.clone());
        let record = self.record(subject.call);
        record.running = true;
        record.questions.open = None;
        let earlier = standing.get(&standing_key(&record.digest, &record.facts.bound));
        let by = match (record.ruling.verdict, &record.questions.answered, earlier) {
            (_, Some(approval), _) if record.edited.is_some() => {
                Permit::Approval { approval: approval.clone() }
            }
            (Verdict::Allow, _, _) => {
                let rule = record.ruling.deciding().and_then(|finding| finding.rule.clone());
                Permit::Rule { rule: rule.unwrap_or_else(|| "built-in".to_owned()) }
            }
            (Verdict::Ask | Verdict::Deny, Some(approval), _) => {
                Permit::Approval { approval: approval.clone() }
            }
            (Verdict::Ask | Verdict::Deny, None, Some(approval)) if subject.standing => {
                Permit::Earlier { approval: approval.clone() }
            }
            (Verdict::Ask | Verdict::Deny, None, _) => Permit::Mode {},
        };
        let call = record.call.clone();
        let (edited, expected) = (record.edited.clone(), Box::new(record.facts.clone()));
        Move::RunCall { call, by, under, edited, expected }
    }

    pub(super) fn refuse(&mut self, number: u64, refusal: CallRefusal) -> Move {
        self.hooks.forget_before(number);
        let record = self.record(number);
        let why = match refusal {
            CallRefusal::Rules => {
                let why = record.ruling.deciding().map(|finding| finding.why.as_str());
                let why = why.unwrap_or("the rules do not allow it");
                format!("{}Refused: {why}", edit_note(record.edited.as_deref()))
            }
            CallRefusal::Person => match &record.questions.no {
                Some(answer) if answer.expired => {
                    "Refused: nobody answered the request for permission in time.".to_owned()
                }
                Some(ApprovalAnswer { reason: Some(reason), .. }) if !reason.is_empty() => {
                    format!("A person said no: {reason}")
                }
                Some(_) | None => "A person said no.".to_owned(),
            },
            CallRefusal::Danger => {
                let why = record.danger.as_deref().unwrap_or("the call is dangerous");
                format!("Refused as dangerous, in every mode: {why}")
            }
            CallRefusal::Questions => format!(
                "Refused: {QUESTIONS_MAX} questions wait for an answer already, and no more are asked at once. \
                 Make fewer calls that a person must approve, and make this one again later."
            ),
            CallRefusal::Hook => {
                let why = record.hooked.refusal.clone();
                why.unwrap_or_else(|| "Refused by a hook.".to_owned())
            }
        };
        self.refused(number, why)
    }

    /// Gives an outcome to a call that was stopped before it ran.
    pub(super) fn settle(&mut self, number: u64) -> Option<Move> {
        self.hooks.forget_before(number);
        let record = self.record(number);
        record.questions.open = None;
        match record.outcome {
            Some(_) => None,
            None => Some(self.refused(number, "Not made: the turn was stopped.".to_owned())),
        }
    }

    fn refused(&mut self, number: u64, why: String) -> Move {
        let record = self.record(number);
        record.questions.open = None;
        record.outcome = Some(ToolOutcome::refused(why.clone()));
        Move::Refuse { call: record.call.id.clone(), why }
    }

    /// Adds outcomes in the order of the calls, not in the order of their arrival.
    pub(super) fn say_outcomes(&mut self) {
        for record in self.calls.iter_mut().filter(|record| !record.said) {
            let Some(outcome) = &record.outcome else { continue };
            record.said = true;
            // The text of a refusal already says so.
            let note = match outcome.status {
                OutcomeStatus::Refused => String::new(),
                OutcomeStatus::Done
                | OutcomeStatus::Failed
                | OutcomeStatus::Stopped
                | OutcomeStatus::Uncertain => edit_note(record.edited.as_deref()),
            };
            let mut content = note + &outcome.text;
            for note in &record.hooked.notes {
                content.push('\n');
                content.push_str(note);
            }
            self.talk.say(Message::Tool {
                call: record.call.id.clone(),
                content,
                ok: outcome.status == OutcomeStatus::Done,
            });
        }
        self.say_hooks();
    }

    /// Adds the hooks' texts after the outcomes, so that earlier messages keep their place.
    pub(super) fn say_hooks(&mut self) {
        for content in std::mem::take(&mut self.hooks.says) {
            self.talk.say(Message::user(content));
        }
    }
}

/// Tells the model of changed arguments; its own call stays as it wrote it.
fn edit_note(edited: Option<&CallEdit>) -> String {
    let Some(edited) = edited else { return String::new() };
    let input = edited.input.to_string();
    let shown: String = input.chars().take(EDIT_CHARS_MAX).collect();
    let cut = if shown.len() < input.len() { "…" } else { "" };
    let who = match &edited.by {
        None => "A person".to_owned(),
        Some(program) => format!("The hook {program}"),
    };
    format!("[{who} changed the arguments of this call to {shown}{cut}]\n")
}

/// Returns the model's reply as a message.
pub(super) fn said(reply: &ModelReply) -> Message {
    Message::Assistant {
        content: reply.text.clone(),
        thinking: reply.thinking.clone(),
        calls: reply.calls.clone(),
        sealed: reply.sealed.clone(),
    }
}

/// Hashes the exact call: an answer applies to this call only.
pub fn digest(call: &ToolCall) -> ContentHash {
    let input = serde_json::to_vec(&call.input).expect("a call's input is JSON");
    ContentHasher::default().part(call.tool.as_str().as_bytes()).part(&input).finish()
}

/// Returns the key of an approval for the session: an equal call with equal content.
pub fn standing_key(digest: &ContentHash, bound: &[CallDependency]) -> String {
    if bound.is_empty() {
        return digest.to_string();
    }
    let mut hasher = ContentHasher::default();
    hasher.part(digest.as_str().as_bytes());
    for item in bound {
        let found = item.digest.as_ref().map_or("", ContentHash::as_str);
        for part in [item.kind.as_str(), &item.name, found] {
            hasher.part(part.as_bytes());
        }
    }
    hasher.finish().to_string()
}

/// Returns an id that is equal in every replay; each further question about a call has its own.
pub(super) fn approval_id(call: &ToolCall, questions: u32) -> ApprovalId {
    let hash = match questions {
        0 => ContentHash::of(call.id.as_str().as_bytes()),
        count => ContentHash::of(format!("{}:{count}", call.id).as_bytes()),
    };
    let hex = hash.as_str().trim_start_matches("blake3:").get(..32).unwrap_or_default();
    ApprovalId::from_number(u128::from_str_radix(hex, 16).unwrap_or_default())
}

pub(super) fn loaded_skill(call: &ToolCall) -> Option<SkillId> {
    let name = call.input.get("name")?.as_str()?;
    (call.tool.as_str() == LOAD_SKILL).then(|| SkillId::new(name))
}

/// Returns true if a model answers that the work is done. The JSON may be wrapped in prose or a
/// fence; an unintelligible answer is a no.
pub(super) fn says_done(text: &str) -> bool {
    let starts = text.match_indices('{').map(|(at, _)| at);
    let found = starts.filter_map(|at| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter();
        let value: serde_json::Value = values.next()?.ok()?;
        value.get("done")?.as_bool()
    });
    let answers: Vec<bool> = found.collect();
    // Two answers that contradict each other count as no answer.
    !answers.is_empty() && answers.iter().all(|done| *done)
}

#[cfg(test)]
mod tests {
    use super::says_done;

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        for (text, done) in [
            ("{\"done\": true}", true),
            ("```json\n{\"done\": true}\n```", true),
            ("I think so: {\"done\":true, \"why\":\"tests pass\"}.", true),
            ("{\"done\": false}", false),
            ("{\"done\": \"true\"}", false),
            ("{\"done\": true", false),
            ("done", false),
            ("", false),
            ("true", false),
            ("{\"finished\": true}", false),
            ("{\"done\": true} or {\"done\": false}", false),
        ] {
            assert_eq!(says_done(text), done, "{text}");
        }
    }
}
