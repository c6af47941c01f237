//! Retries failed queries: the same model again, then the next one.
//!
//! Transient failures are retried with growing, randomized waits. The wait that a provider requests
//! is honored; if it exceeds our limit, the next model is queried at once. A failure that another
//! model cannot mend (the answer is not wanted, the money is spent, the provider refuses, a script
//! is wrong) ends the query.
//!
//! Must never: retry after an answer, or without a notice of the reason.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use agentry_protocol::message::{FailureKind, ModelFailure};

use crate::limits::{RETRY_TOTAL_MS_MAX, RETRY_WAIT_FIRST_MS, RETRY_WAIT_MS_MAX, TRIES_MAX};
use crate::{Delta, Model, ModelAnswer, ModelQuery, RetryNotice};

/// The number of attempts and the waits between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The largest number of attempts per model.
    pub tries_max: u32,
    /// The wait before the second attempt; each next one is twice as long.
    pub wait_first: Duration,
    /// The longest wait between two attempts, even if the provider requests more.
    pub wait_max: Duration,
    /// The longest sum of all waits of one query.
    pub total_max: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            tries_max: TRIES_MAX,
            wait_first: Duration::from_millis(RETRY_WAIT_FIRST_MS),
            wait_max: Duration::from_millis(RETRY_WAIT_MS_MAX),
            total_max: Duration::from_millis(RETRY_TOTAL_MS_MAX),
        }
    }
}

/// A model made of several, in order of preference.
pub struct RetryingModel {
    models: Vec<(String, Arc<dyn Model>)>,
    patience: RetryPolicy,
}

impl RetryingModel {
    /// Creates a model of these, each under its name: provider and model.
    pub fn new(models: Vec<(String, Arc<dyn Model>)>, patience: RetryPolicy) -> Self {
        Self { models, patience }
    }

    /// Queries one model until it answers or a further wait is useless.
    fn insist(
        &self,
        model: &dyn Model,
        asking: &mut RetryState<'_>,
    ) -> Result<ModelAnswer, ModelFailure> {
        let mut attempt = 1;
        loop {
            let failure = match asking.ask(model) {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let wait = self.patience.wait(attempt, failure.retry_after_ms, asking.waited);
            let Some(wait) = wait.filter(|_| failure.kind.is_transient()) else {
                return Err(failure);
            };
            (asking.question.tell)(RetryNotice::Retry { attempt, failure, wait });
            if !(asking.question.wait)(wait) {
                let message = "nobody wants the answer any more";
                return Err(ModelFailure::new(FailureKind::Interrupted, message));
            }
            asking.waited += wait;
            attempt += 1;
        }
    }
}

impl Model for RetryingModel {
    fn ask(&self, question: &ModelQuery<'_>) -> Result<ModelAnswer, ModelFailure> {
        let mut asking = RetryState { question, waited: Duration::ZERO, heard: Cell::new(false) };
        let mut models = self.models.iter().peekable();
        while let Some((name, model)) = models.next() {
            let failure = match self.insist(&**model, &mut asking) {
                Ok(answer) => return Ok(ModelAnswer { model: Some(name.clone()), ..answer }),
                Err(failure) => failure,
            };
            let Some((next, _)) = models.peek().filter(|_| another_may_help(failure.kind)) else {
                return Err(failure);
            };
            let (from, to) = (name.clone(), next.clone());
            (question.tell)(RetryNotice::Replace { from, to, failure });
        }
        Err(ModelFailure::new(FailureKind::UnknownModel, "there is no model to ask"))
    }
}

/// The state of one query.
struct RetryState<'a> {
    question: &'a ModelQuery<'a>,
    /// The sum of the waits so far.
    waited: Duration,
    /// True if pieces were sent that no `Restart` has voided yet.
    heard: Cell<bool>,
}

impl RetryState<'_> {
    /// Queries once. Before that, it voids the pieces of an attempt that failed.
    fn ask(&self, model: &dyn Model) -> Result<ModelAnswer, ModelFailure> {
        if self.heard.replace(false) {
            (self.question.hear)(Delta::Restart);
        }
        let hear = |delta: Delta| {
            self.heard.set(!matches!(delta, Delta::Restart));
            (self.question.hear)(delta);
        };
        model.ask(&ModelQuery { hear: &hear, ..*self.question })
    }
}

impl RetryPolicy {
    /// Returns the wait after this attempt; `None` if there is no further one.
    fn wait(&self, attempt: u32, asked_ms: Option<u64>, waited: Duration) -> Option<Duration> {
        if attempt >= self.tries_max {
            return None;
        }
        let doubled = self.wait_first.saturating_mul(1 << (attempt - 1).min(31)).min(self.wait_max);
        let wait = match asked_ms.map(Duration::from_millis) {
            // A little more than requested, so that clients do not all return at the same moment.
            Some(asked) => asked.saturating_add(jittered(self.wait_first) / 4).max(doubled / 2),
            None => doubled / 2 + jittered(doubled / 2),
        };
        let too_long = asked_ms.is_some_and(|ms| Duration::from_millis(ms) > self.wait_max);
        (!too_long && waited.saturating_add(wait) <= self.total_max).then_some(wait)
    }
}

/// Returns a random part of the span. A new hash key is random enough to spread the clients.
fn jittered(span: Duration) -> Duration {
    let part = RandomState::new().hash_one(0_u8) % 1024;
    span.saturating_mul(u32::try_from(part).unwrap_or(0)) / 1024
}

/// True if another model may succeed after such a failure.
fn another_may_help(kind: FailureKind) -> bool {
    match kind {
        FailureKind::RateLimited
        | FailureKind::Overloaded
        | FailureKind::Timeout
        | FailureKind::Connection
        | FailureKind::Cut
        | FailureKind::Malformed
        | FailureKind::Authentication
        | FailureKind::UnknownModel
        | FailureKind::InvalidRequest
        | FailureKind::TooLarge
        | FailureKind::ContextOverflow
        | FailureKind::Other => true,
        FailureKind::Refused
        | FailureKind::SpendingLimit
        | FailureKind::ScriptEnded
        | FailureKind::ScriptBroken
        | FailureKind::Interrupted => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_never_pass_their_bounds() {
        let patience = RetryPolicy {
            tries_max: 40,
            wait_first: Duration::from_millis(100),
            wait_max: Duration::from_millis(1_000),
            total_max: Duration::from_secs(60),
        };
        for attempt in 1..40 {
            let full = Duration::from_millis(100 * (1_u64 << (attempt - 1).min(10)))
                .min(patience.wait_max);
            let wait = patience.wait(attempt, None, Duration::ZERO).unwrap();
            assert!(wait >= full / 2 && wait <= full, "{attempt}: {wait:?}");
        }
        assert_eq!(patience.wait(40, None, Duration::ZERO), None);
        assert_eq!(patience.wait(1, None, Duration::from_secs(60)), None);
    }

    #[test]
    fn what_the_provider_asks_for_is_waited_or_not_at_all() {
        let patience = RetryPolicy { wait_max: Duration::from_secs(5), ..RetryPolicy::default() };
        let wait = patience.wait(1, Some(4_000), Duration::ZERO).unwrap();
        assert!(wait >= Duration::from_secs(4) && wait < Duration::from_secs(5), "{wait:?}");
        assert_eq!(patience.wait(1, Some(5_001), Duration::ZERO), None);
        assert_eq!(patience.wait(1, Some(u64::MAX), Duration::ZERO), None);
    }

    #[test]
    fn waits_are_not_in_step() {
        let waits: std::collections::HashSet<Duration> =
            (0..20).map(|_| jittered(Duration::from_secs(1))).collect();
        assert!(waits.len() > 1, "{waits:?}");
    }
}
