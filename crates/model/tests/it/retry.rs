//! Asking again, and asking another: with models that fail as they are told.
//!
//! Must never: really wait.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentry_model::{
    Delta, Model, ModelAnswer, ModelQuery, RetryNotice, RetryPolicy, RetryingModel,
};
use agentry_protocol::message::{FailureKind, ModelFailure};

use crate::http_asking::{ask, ask_while, hello};

/// A model that gives these one after the other, and says a word before each.
struct Moody {
    moods: Vec<Result<&'static str, ModelFailure>>,
    asked: AtomicUsize,
}

impl Model for Moody {
    fn ask(&self, question: &ModelQuery<'_>) -> Result<ModelAnswer, ModelFailure> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        let mood = self.moods[number.min(self.moods.len() - 1)].clone();
        (question.hear)(Delta::Text("word".to_owned()));
        mood.map(|text| ModelAnswer { text: text.to_owned(), ..ModelAnswer::default() })
    }
}

fn moody(moods: Vec<Result<&'static str, ModelFailure>>) -> Arc<Moody> {
    Arc::new(Moody { moods, asked: AtomicUsize::new(0) })
}

fn failure(kind: FailureKind) -> ModelFailure {
    ModelFailure::new(kind, format!("{kind:?}"))
}

fn patience() -> RetryPolicy {
    RetryPolicy {
        tries_max: 3,
        wait_first: Duration::from_millis(1_000),
        wait_max: Duration::from_secs(10),
        total_max: Duration::from_secs(60),
    }
}

fn insistent(models: &[(&str, &Arc<Moody>)]) -> RetryingModel {
    let named = |(name, model): &(&str, &Arc<Moody>)| {
        let model: Arc<dyn Model> = (*model).clone();
        ((*name).to_owned(), model)
    };
    RetryingModel::new(models.iter().map(named).collect(), patience())
}

#[test]
fn what_passes_is_waited_out_and_told() {
    let model = moody(vec![
        Err(failure(FailureKind::Overloaded)),
        Err(failure(FailureKind::Cut)),
        Ok("here"),
    ]);
    let waits = RefCell::new(Vec::new());
    let told = ask_while(&insistent(&[("a/b", &model)]), &hello(), &|time| {
        waits.borrow_mut().push(time);
        true
    });
    let answer = told.answer.unwrap();
    assert_eq!((answer.text.as_str(), answer.model.as_deref()), ("here", Some("a/b")));
    let word = || Delta::Text("word".to_owned());
    assert_eq!(told.heard, [word(), Delta::Restart, word(), Delta::Restart, word()]);
    let told_waits: Vec<(u32, FailureKind, Duration)> = told
        .troubles
        .iter()
        .map(|trouble| match trouble {
            RetryNotice::Retry { attempt, failure, wait } => (*attempt, failure.kind, *wait),
            RetryNotice::Replace { .. } => panic!("{trouble:?}"),
        })
        .collect();
    let waits = waits.into_inner();
    assert_eq!(
        told_waits,
        [(1, FailureKind::Overloaded, waits[0]), (2, FailureKind::Cut, waits[1])]
    );
    let half = Duration::from_millis(500);
    assert!(waits[0] >= half && waits[0] <= 2 * half, "{waits:?}");
    assert!(waits[1] >= 2 * half && waits[1] <= 4 * half, "{waits:?}");
}

#[test]
fn after_all_tries_the_next_model_is_asked() {
    let first = moody(vec![Err(failure(FailureKind::RateLimited))]);
    let second = moody(vec![Ok("me")]);
    let told = ask(&insistent(&[("a/one", &first), ("b/two", &second)]), &hello());
    assert_eq!(told.answer.unwrap().model.as_deref(), Some("b/two"));
    assert_eq!(first.asked.load(Ordering::SeqCst), 3);
    let Some(RetryNotice::Replace { from, to, failure }) = told.troubles.last() else {
        panic!("{:?}", told.troubles)
    };
    assert_eq!(
        (from.as_str(), to.as_str(), failure.kind),
        ("a/one", "b/two", FailureKind::RateLimited)
    );
    assert_eq!(told.troubles.len(), 3);
}

#[test]
fn each_kind_is_retried_replaced_or_final() {
    use FailureKind::{
        Authentication, Connection, ContextOverflow, Cut, Interrupted, InvalidRequest, Malformed,
        Other, Overloaded, RateLimited, Refused, ScriptBroken, ScriptEnded, SpendingLimit, Timeout,
        TooLarge, UnknownModel,
    };
    for (kind, tries, moves_on) in [
        (RateLimited, 3, true),
        (Overloaded, 3, true),
        (Timeout, 3, true),
        (Connection, 3, true),
        (Cut, 3, true),
        (Malformed, 3, true),
        (Authentication, 1, true),
        (UnknownModel, 1, true),
        (InvalidRequest, 1, true),
        (TooLarge, 1, true),
        (ContextOverflow, 1, true),
        (Other, 1, true),
        (Refused, 1, false),
        (SpendingLimit, 1, false),
        (ScriptEnded, 1, false),
        (ScriptBroken, 1, false),
        (Interrupted, 1, false),
    ] {
        let first = moody(vec![Err(failure(kind))]);
        let second = moody(vec![Ok("me")]);
        let told = ask(&insistent(&[("a/one", &first), ("b/two", &second)]), &hello());
        assert_eq!(first.asked.load(Ordering::SeqCst), tries, "{kind:?}");
        assert_eq!(told.answer.is_ok(), moves_on, "{kind:?}");
        // What was said stays where nobody is asked again.
        let restarts = told.heard.iter().filter(|delta| **delta == Delta::Restart).count();
        assert_eq!(restarts, tries - 1 + usize::from(moves_on), "{kind:?}");
    }
}

#[test]
fn a_wait_that_is_asked_for_is_honoured_or_the_next_model_is_asked() {
    let asks_for =
        |ms| ModelFailure { retry_after_ms: Some(ms), ..failure(FailureKind::RateLimited) };
    let model = moody(vec![Err(asks_for(9_000)), Ok("here")]);
    let told = ask(&insistent(&[("a/one", &model)]), &hello());
    assert!(told.answer.is_ok());
    assert!(
        matches!(&told.troubles[..], [RetryNotice::Retry { wait, .. }] if *wait >= Duration::from_secs(9)),
        "{:?}",
        told.troubles
    );
    let first = moody(vec![Err(asks_for(10_001)), Ok("too late")]);
    let second = moody(vec![Ok("me")]);
    let told = ask(&insistent(&[("a/one", &first), ("b/two", &second)]), &hello());
    assert_eq!(told.answer.unwrap().text, "me");
    assert!(matches!(&told.troubles[..], [RetryNotice::Replace { .. }]), "{:?}", told.troubles);
}

#[test]
fn an_interrupt_during_a_wait_ends_it() {
    let model = moody(vec![Err(failure(FailureKind::Overloaded)), Ok("never")]);
    let other = moody(vec![Ok("never")]);
    let asking = insistent(&[("a/one", &model), ("b/two", &other)]);
    let told = ask_while(&asking, &hello(), &|_| false);
    assert_eq!(told.kind(), FailureKind::Interrupted);
    assert_eq!(model.asked.load(Ordering::SeqCst), 1);
    assert_eq!(other.asked.load(Ordering::SeqCst), 0);
}

#[test]
fn when_nobody_answers_the_last_failure_is_told() {
    let first = moody(vec![Err(failure(FailureKind::Authentication))]);
    let second = moody(vec![Err(failure(FailureKind::UnknownModel))]);
    let told = ask(&insistent(&[("a/one", &first), ("b/two", &second)]), &hello());
    assert_eq!(told.kind(), FailureKind::UnknownModel);
    assert_eq!(told.troubles.len(), 1);
    assert_eq!(ask(&insistent(&[]), &hello()).kind(), FailureKind::UnknownModel);
}

#[test]
fn the_waits_of_all_models_together_are_bounded() {
    let first = moody(vec![Err(failure(FailureKind::Overloaded))]);
    let patience =
        RetryPolicy { tries_max: 1_000, total_max: Duration::from_secs(30), ..patience() };
    let models: Vec<(String, Arc<dyn Model>)> =
        vec![("a/one".to_owned(), first.clone()), ("b/two".to_owned(), first.clone())];
    let waited = RefCell::new(Duration::ZERO);
    let told = ask_while(&RetryingModel::new(models, patience), &hello(), &|time| {
        *waited.borrow_mut() += time;
        true
    });
    assert_eq!(told.kind(), FailureKind::Overloaded);
    assert!(*waited.borrow() <= Duration::from_secs(30), "{waited:?}");
}
