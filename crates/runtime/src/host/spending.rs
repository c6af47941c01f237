//! The spending limits: the maximum cost of a request is reserved before the request is sent.
//!
//! Must never: let a request pass that a limit forbids, or treat an unknown price as free unless
//! the settings allow it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use agentry_agentfile::manifest::config::{Dollars, SpendingToml, UnknownPrice};
use agentry_model::prices::Prices;
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::message::{FailureKind, ModelFailure, Usage};
use agentry_store::{Ledger, Reservation, SpendingLimits, SpendingOverrun, day_of};

use crate::limits::ANSWER_TOKENS_ASSUMED;

const NANO_PER_DOLLAR: u64 = 1_000_000_000;
const NANO_PER_MICRO: u64 = 1000;
const SCRIPTED: &str = "scripted";

/// The spending limits and the prices of models.
#[derive(Debug)]
pub struct SpendingLimiter {
    limits: SpendingLimits,
    unknown: UnknownPrice,
    /// The name of each provider in the price table, by provider id.
    families: BTreeMap<String, String>,
    taken: AtomicU64,
}

/// The size of a request to a model.
#[derive(Clone, Copy)]
pub struct RequestSize {
    /// The length of the request, in bytes.
    pub bytes: u64,
    /// The limit of its answer, in tokens; None for the limit of the model.
    pub answer_tokens: Option<u64>,
}

/// A reservation for one request. Drop releases it, and only after the reply was recorded: before
/// that, no other request may use the amount.
#[must_use = "what is dropped is given back"]
pub struct SpendReservation {
    ledger: Ledger,
    id: String,
    /// The reserved amount, in billionths of a dollar.
    pub nano_usd: u64,
}

impl SpendingLimiter {
    /// Creates a limiter from the settings. `families` maps provider ids to their names in the
    /// price table; a provider that is missing there goes by its id.
    pub fn new(spending: &SpendingToml, families: BTreeMap<String, String>) -> Self {
        let nano = |amount: Option<Dollars>| amount.map(Dollars::nano);
        Self {
            limits: SpendingLimits {
                run: nano(spending.run),
                session: nano(spending.session),
                day: nano(spending.day),
            },
            unknown: spending.unknown.unwrap_or_default(),
            families,
            taken: AtomicU64::new(0),
        }
    }

    /// Returns the cost of a reply, in billionths of a dollar; None if the price is unknown.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<u64> {
        let (family, name) = self.family(model);
        Prices::built_in().cost_nano_usd(family, name, usage)
    }

    /// Returns a model's context window from the price table, in tokens; None if unknown.
    pub fn window(&self, model: &str) -> Option<u64> {
        let (family, name) = self.family(model);
        Prices::built_in().entry(family, name)?.window
    }

    /// True if the price of a model is known.
    pub fn knows(&self, model: &str) -> bool {
        let (family, name) = self.family(model);
        Prices::built_in().entry(family, name).is_some()
    }

    /// Reserves the maximum cost of a request to the dearest of `models`. Returns None if no
    /// reservation is needed.
    pub fn reserve(
        &self,
        ledger: &Ledger,
        about: &EntrySubject,
        models: &[&str],
        size: RequestSize,
    ) -> Result<Option<SpendReservation>, ModelFailure> {
        let mut dearest = (0, "");
        for model in models {
            match (self.ceiling(model, size), self.unknown) {
                (Some(nano_usd), _) => dearest = dearest.max((nano_usd, model)),
                (None, UnknownPrice::Allow) => {}
                (None, UnknownPrice::Refuse) => {
                    return Err(over_limit(format!(
                        "the price of {model} is unknown, and `unknown` under [limits.spending] is \
                         `refuse`"
                    )));
                }
            }
        }
        let (nano_usd, model) = dearest;
        if self.limits.is_none() || nano_usd == 0 {
            return Ok(None);
        }
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        let turn = about.turn.as_ref().map_or("no turn", |turn| turn.as_str());
        let wanted = Reservation {
            id: format!("{turn} {number}"),
            run: about.run.clone(),
            session: about.session.clone(),
            day: day_of(ledger.now()),
            nano_usd,
            limits: self.limits,
        };
        match ledger.reserve(&wanted) {
            Ok(Ok(())) => {
                Ok(Some(SpendReservation { ledger: ledger.clone(), id: wanted.id, nano_usd }))
            }
            Ok(Err(over)) => Err(over_limit(told(model, &over))),
            Err(error) => Err(ModelFailure::new(FailureKind::Other, error.to_string())),
        }
    }

    fn ceiling(&self, model: &str, size: RequestSize) -> Option<u64> {
        let (family, name) = self.family(model);
        let most = Prices::built_in().entry(family, name)?.output_max;
        let answer = size.answer_tokens.or(most).unwrap_or(ANSWER_TOKENS_ASSUMED);
        Prices::built_in().ceiling_nano_usd(family, name, size.bytes, answer)
    }

    /// Returns the provider's name in the price table, and the model's own name.
    fn family<'a>(&'a self, model: &'a str) -> (&'a str, &'a str) {
        if agentry_kernel::model_choice::is_played(model) {
            return (SCRIPTED, model);
        }
        let (provider, name) = model.split_once('/').unwrap_or((model, model));
        (self.families.get(provider).map_or(provider, String::as_str), name)
    }
}

impl SpendReservation {
    /// Releases the reservation, once the reply is recorded.
    pub fn settle(self) {
        drop(self);
    }
}

impl Drop for SpendReservation {
    /// Releases the reservation. If that fails, the ledger clears it when it expires.
    fn drop(&mut self) {
        self.ledger.release(&self.id).ok();
    }
}

fn over_limit(message: String) -> ModelFailure {
    ModelFailure::new(FailureKind::SpendingLimit, message)
}

fn told(model: &str, over: &SpendingOverrun) -> String {
    let SpendingOverrun { which, limit, spent, reserved, wanted } = *over;
    let aside = match reserved {
        0 => String::new(),
        reserved => format!(" and {} set aside", dollars(reserved)),
    };
    format!(
        "asking {model} may cost up to {}; of {} for this {which} {} is spent{aside}",
        dollars(wanted),
        dollars(limit),
        dollars(spent),
    )
}

/// Formats an amount for people, rounded up: `$1.50`, `$0.000125`.
pub fn dollars(nano: u64) -> String {
    let micro = nano.div_ceil(NANO_PER_MICRO);
    let per_dollar = NANO_PER_DOLLAR / NANO_PER_MICRO;
    let text = format!("${}.{:06}", micro / per_dollar, micro % per_dollar);
    let cents = text.len() - 4;
    let kept = text.trim_end_matches('0').len().max(cents);
    text[..kept].to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentry_protocol::envelope::Draft;
    use agentry_protocol::event::Event;
    use agentry_protocol::message::ModelReply;
    use agentry_protocol::{RunId, SessionId, TurnId};
    use tempfile::TempDir;

    use super::*;

    const SONNET: &str = "claude/claude-sonnet-4-5";
    const NOON: u64 = 1_700_000_000_000;

    fn limiter(settings: serde_json::Value) -> SpendingLimiter {
        let spending: SpendingToml = serde_json::from_value(settings).expect("settings of a test");
        let families = BTreeMap::from([("claude".to_owned(), "anthropic".to_owned())]);
        SpendingLimiter::new(&spending, families)
    }

    fn ledger() -> (TempDir, Ledger) {
        let directory = TempDir::new().expect("a temporary directory");
        let ledger = Ledger::open(&directory.path().join("home"), Arc::new(|| NOON));
        (directory, ledger.expect("a new ledger"))
    }

    fn size(bytes: u64, answer_tokens: Option<u64>) -> RequestSize {
        RequestSize { bytes, answer_tokens }
    }

    fn about() -> EntrySubject {
        EntrySubject {
            session: Some(SessionId::from_number(1)),
            run: Some(RunId::from_number(1)),
            turn: Some(TurnId::from_number(1)),
        }
    }

    #[test]
    fn a_question_that_could_go_over_the_limit_is_stopped_with_figures() {
        let (_directory, ledger) = ledger();
        let limiter = limiter(serde_json::json!({ "run": 0.02 }));
        // 1000 input tokens, and up to 1000 output tokens: 0.00375 + 0.015 dollars.
        let asked = size(3000, Some(1000));
        let held = limiter.reserve(&ledger, &about(), &[SONNET], asked).unwrap().unwrap();
        assert_eq!(held.nano_usd, 18_750_000);
        let failure = limiter.reserve(&ledger, &about(), &[SONNET], asked).err().unwrap();
        assert_eq!(failure.kind, FailureKind::SpendingLimit);
        assert_eq!(
            failure.message,
            "asking claude/claude-sonnet-4-5 may cost up to $0.01875; of $0.02 for this run $0.00 \
             is spent and $0.01875 set aside"
        );
        let reply = ModelReply { cost_nano_usd: Some(1_000_000), ..ModelReply::default() };
        let event = Event::ModelReplied { step: 0, reply, facts: Vec::new() };
        ledger.append(vec![Draft { cause: None, about: about(), event }]).unwrap();
        held.settle();
        let held = limiter.reserve(&ledger, &about(), &[SONNET], asked).unwrap().unwrap();
        drop(held);
        let failure = limiter.reserve(&ledger, &about(), &[SONNET], size(3300, Some(1100)));
        assert!(failure.err().unwrap().message.ends_with("$0.001 is spent"));
    }

    #[test]
    fn without_a_limit_or_for_what_is_free_nothing_is_set_aside() {
        let (_directory, ledger) = ledger();
        let free = limiter(serde_json::json!({ "day": 0 }));
        for model in ["local/any", "ollama/any", "scripted:/a/b.jsonl"] {
            assert!(free.reserve(&ledger, &about(), &[model], size(9, None)).unwrap().is_none());
            assert_eq!(free.cost(model, &Usage::default()), Some(0));
        }
        assert!(free.reserve(&ledger, &about(), &[SONNET], size(9, None)).is_err());
        let open = limiter(serde_json::json!({}));
        assert!(open.reserve(&ledger, &about(), &[SONNET], size(9, None)).unwrap().is_none());
    }

    #[test]
    fn a_model_without_a_price_is_asked_unless_the_settings_refuse() {
        let (_directory, ledger) = ledger();
        let model = "claude/claude-9";
        let allow = limiter(serde_json::json!({ "day": 0 }));
        assert!(!allow.knows(model));
        assert!(allow.reserve(&ledger, &about(), &[model], size(9, None)).unwrap().is_none());
        let refuse = limiter(serde_json::json!({ "unknown": "refuse" }));
        let failure = refuse.reserve(&ledger, &about(), &[model], size(9, None)).err().unwrap();
        assert_eq!(failure.kind, FailureKind::SpendingLimit);
        assert!(failure.message.contains(model), "{}", failure.message);
        assert!(refuse.reserve(&ledger, &about(), &[SONNET], size(9, None)).unwrap().is_none());
    }

    #[test]
    fn the_longest_answer_counts_where_nobody_says_how_long_it_may_be() {
        let (_directory, ledger) = ledger();
        let limiter = limiter(serde_json::json!({ "run": 0.5 }));
        assert!(limiter.reserve(&ledger, &about(), &[SONNET], size(9, None)).is_err());
        assert!(limiter.reserve(&ledger, &about(), &[SONNET], size(9, Some(9))).is_ok());
    }

    #[test]
    fn amounts_are_read_as_money_and_never_too_low() {
        for (nano, text) in [
            (0, "$0.00"),
            (1, "$0.000001"),
            (1_500_000_000, "$1.50"),
            (20_000_000, "$0.02"),
            (18_750_000, "$0.01875"),
            (1_234_567_001, "$1.234568"),
            (100_000_000_000, "$100.00"),
        ] {
            assert_eq!(dollars(nano), text);
        }
    }
}
