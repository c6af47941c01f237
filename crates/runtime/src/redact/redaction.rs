//! Removes the values of secrets from what models and tools return, before it is recorded or shown.
//!
//! The arguments of a call stay unchanged, because they are executed. A model that never saw a
//! value cannot write it there.
//!
//! Must never: pass on a text that was not searched.

use std::cell::RefCell;

use agentry_model::{Delta, ModelAnswer};
use agentry_protocol::confinement::Connection;
use agentry_protocol::message::ModelFailure;
use agentry_protocol::tool_call::{CallMeasurements, ToolOutcome};

use crate::redact::{RedactionStream, Redactor, TextEdges};
use crate::run_request::RunRequest;

/// Redacts the outcome of a call or a check, and adds the count of replaced places.
pub(crate) fn outcome(redactor: &Redactor, outcome: ToolOutcome) -> ToolOutcome {
    let ToolOutcome { status, text, measured } = outcome;
    let ends = if measured.truncated { TextEdges::Cut } else { TextEdges::Whole };
    let redacted = redactor.text(&text, ends);
    let denied = measured.denied.iter().map(|line| redactor.hide(line)).collect();
    let measured =
        CallMeasurements { redacted: measured.redacted + redacted.count, denied, ..measured };
    ToolOutcome { status, text: redacted.text, measured }
}

/// Redacts a connection, since a host name can carry any data.
pub(crate) fn connection(redactor: &Redactor, connection: Connection) -> Connection {
    let (host, refused) = (redactor.hide(&connection.host), connection.refused.as_deref());
    Connection { host, refused: refused.map(|why| redactor.hide(why)), ..connection }
}

/// Redacts the texts of a model's answer.
pub(crate) fn answer(redactor: &Redactor, answer: ModelAnswer) -> ModelAnswer {
    let (text, thinking) = (redactor.hide(&answer.text), redactor.hide(&answer.thinking));
    ModelAnswer { text, thinking, ..answer }
}

/// Redacts the message of a model's failure.
pub(crate) fn failure(redactor: &Redactor, failure: ModelFailure) -> ModelFailure {
    let message = redactor.hide(&failure.message);
    ModelFailure { message, ..failure }
}

/// Redacts the request for a run.
pub(crate) fn order(redactor: &Redactor, order: RunRequest) -> RunRequest {
    let prompt = redactor.hide(&order.prompt);
    let inputs = order.inputs.iter().map(|(name, value)| (name.clone(), redactor.hide(value)));
    RunRequest { prompt, inputs: inputs.collect(), ..order }
}

/// Redacts and forwards the pieces of a reply while they stream.
pub(crate) struct DeltaRedactor<'a, F: Fn(Delta)> {
    text: RefCell<RedactionStream<'a>>,
    thinking: RefCell<RedactionStream<'a>>,
    /// The call whose arguments are streaming.
    call: RefCell<Option<(usize, String, RedactionStream<'a>)>>,
    redactor: &'a Redactor,
    pass_on: F,
}

impl<'a, F: Fn(Delta)> DeltaRedactor<'a, F> {
    pub(crate) fn new(redactor: &'a Redactor, pass_on: F) -> Self {
        let (text, thinking) = (redactor.stream().into(), redactor.stream().into());
        Self { text, thinking, call: RefCell::default(), redactor, pass_on }
    }

    pub(crate) fn take(&self, delta: Delta) {
        match delta {
            Delta::Text(piece) => {
                let certain = self.text.borrow_mut().push(piece.as_bytes());
                self.tell(certain, Delta::Text);
            }
            Delta::Thinking(piece) => {
                let certain = self.thinking.borrow_mut().push(piece.as_bytes());
                self.tell(certain, Delta::Thinking);
            }
            Delta::Call { index, name, piece } => {
                self.end_call_before(index, &name);
                let certain = match &mut *self.call.borrow_mut() {
                    Some((.., stream)) => stream.push(piece.as_bytes()),
                    None => Vec::new(),
                };
                let piece = String::from_utf8_lossy(&certain).into_owned();
                (self.pass_on)(Delta::Call { index, name, piece });
            }
            Delta::Restart => {
                self.text.replace(self.redactor.stream());
                self.thinking.replace(self.redactor.stream());
                self.call.replace(None);
                (self.pass_on)(Delta::Restart);
            }
        }
    }

    /// Ends the stream of another call, and forwards its held rest, before a call begins.
    fn end_call_before(&self, index: usize, name: &str) {
        let same = self.call.borrow().as_ref().is_some_and(|(at, ..)| *at == index);
        if same {
            return;
        }
        self.end_call();
        self.call.replace(Some((index, name.to_owned(), self.redactor.stream())));
    }

    fn end_call(&self) {
        let Some((index, name, mut stream)) = self.call.take() else { return };
        let rest = stream.finish();
        if !rest.is_empty() {
            let piece = String::from_utf8_lossy(&rest).into_owned();
            (self.pass_on)(Delta::Call { index, name, piece });
        }
    }

    /// Ends all streams and forwards their held rest.
    pub(crate) fn end(&self) {
        self.end_call();
        let rest = self.thinking.borrow_mut().finish();
        self.tell(rest, Delta::Thinking);
        let rest = self.text.borrow_mut().finish();
        self.tell(rest, Delta::Text);
    }

    fn tell(&self, certain: Vec<u8>, made: fn(String) -> Delta) {
        if !certain.is_empty() {
            (self.pass_on)(made(String::from_utf8_lossy(&certain).into_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use agentry_protocol::tool_call::OutcomeStatus;

    use super::*;

    fn redactor() -> Redactor {
        Redactor::new([("key".to_owned(), "tok-1234567890".into())])
    }

    #[test]
    fn pieces_of_an_answer_are_passed_on_without_a_value_that_is_split_over_them() {
        let redactor = redactor();
        let heard = RefCell::new(Vec::new());
        let hearing = DeltaRedactor::new(&redactor, |delta| heard.borrow_mut().push(delta));
        for piece in ["It is ", "tok-1234", "567890, ", "to", "k"] {
            hearing.take(Delta::Text(piece.to_owned()));
        }
        hearing.take(Delta::Thinking("tok-1234567890 ".to_owned()));
        hearing.end();
        let (mut text, mut thinking) = (String::new(), String::new());
        for delta in heard.borrow().iter() {
            match delta {
                Delta::Text(piece) => text.push_str(piece),
                Delta::Thinking(piece) => thinking.push_str(piece),
                Delta::Call { .. } | Delta::Restart => {}
            }
        }
        assert_eq!(text, "It is [secret key], tok");
        assert_eq!(thinking, "[secret key] ");
    }

    #[test]
    fn an_outcome_says_how_often_something_was_taken_out() {
        let said = ToolOutcome::new(OutcomeStatus::Failed, "tok-1234567890 tok-1234567890");
        let shown = outcome(&redactor(), said);
        assert_eq!(
            (shown.text.as_str(), shown.measured.redacted),
            ("[secret key] [secret key]", 2)
        );
        let clean = outcome(&redactor(), ToolOutcome::done("fine"));
        assert_eq!(clean, ToolOutcome::done("fine"));
    }

    #[test]
    fn half_a_value_at_the_end_of_an_outcome_that_was_cut_is_hidden() {
        let mut said = ToolOutcome::done("a tok-1234");
        said.measured.truncated = true;
        assert_eq!(outcome(&redactor(), said).text, "a [secret key]");
    }
}
