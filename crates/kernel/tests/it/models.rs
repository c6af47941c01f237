//! From what is wanted and who serves it to the model that is asked.

use agentry_agentfile::agent::AgentModels;
use agentry_agentfile::source::{Origin, SourcedValue};
use agentry_kernel::model_choice::{
    CandidateOutcome, ModelChoice, ModelChoiceError, ModelPreferences, NoModelReason,
    SelectableProvider, ServedModels, choose, may_use,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

fn provider(id: &str, models: &[&str], priority: i64, order: usize) -> SelectableProvider {
    SelectableProvider {
        id: id.to_owned(),
        models: ServedModels::Listed(models.iter().map(|&one| one.to_owned()).collect()),
        catalogue: Vec::new(),
        default_model: None,
        priority,
        order,
        ready: Ok(()),
    }
}

fn implicit(id: &str, catalogue: &[&str]) -> SelectableProvider {
    let catalogue = catalogue.iter().map(|&one| one.to_owned()).collect();
    SelectableProvider { models: ServedModels::Any, catalogue, ..provider(id, &[], 0, 0) }
}

fn not_ready(provider: SelectableProvider, why: &str) -> SelectableProvider {
    SelectableProvider { ready: Err(why.to_owned()), ..provider }
}

fn said(names: &[&str], file: &str) -> Vec<SourcedValue<String>> {
    let origin = Origin::named(file.to_owned());
    names.iter().map(|&name| SourcedValue::new(name.to_owned(), origin.clone())).collect()
}

fn agent(candidates: &[&str], allowed: &[&str]) -> AgentModels {
    let candidates = said(candidates, "agents/coder/agent.yml");
    let allowed = said(allowed, "agents/coder/AGENT.md");
    AgentModels { candidates, allowed, bound: true, ..AgentModels::default() }
}

fn chosen(
    agent: &AgentModels,
    default: Option<&str>,
    providers: &[SelectableProvider],
) -> Result<ModelChoice, ModelChoiceError> {
    choose(&ModelPreferences { asked: None, agent, default }, providers)
}

fn asked(
    agent: &AgentModels,
    model: &str,
    providers: &[SelectableProvider],
) -> Result<ModelChoice, ModelChoiceError> {
    choose(&ModelPreferences { asked: Some(model), agent, default: None }, providers)
}

const SONNET: &str = "claude-sonnet-4-20250514";

/// The documented agent of the agent program format.
fn seed() -> AgentModels {
    AgentModels { bound: false, ..agent(&[SONNET, "gpt-4.1"], &[]) }
}

#[test]
fn a_list_of_preferences_does_not_keep_a_person_from_another_model() {
    let local = SelectableProvider {
        default_model: Some("tiny".into()),
        ..provider("local", &["tiny"], 0, 0)
    };
    assert_eq!(asked(&seed(), "local", std::slice::from_ref(&local)).unwrap().model, "local/tiny");
    let bound = agent(&[SONNET], &[]);
    assert!(asked(&bound, "local", &[local]).is_err());
}

#[test]
fn the_first_of_the_prefer_list_that_somebody_serves_is_the_model() {
    let openai = provider("openai", &["gpt-4.1"], 0, 0);
    let anthropic = provider("anthropic", &[SONNET], 0, 1);
    let both = chosen(&seed(), None, &[openai.clone(), anthropic]).unwrap();
    assert_eq!(both.model, format!("anthropic/{SONNET}"));
    assert_eq!(both.fallbacks, ["openai/gpt-4.1"]);
    let one = chosen(&seed(), None, &[openai]).unwrap();
    assert_eq!((one.model.as_str(), one.fallbacks.len()), ("openai/gpt-4.1", 0));
    assert!(!one.replaced);
}

#[test]
fn of_two_providers_the_higher_priority_is_asked_and_the_first_configured_of_equals() {
    let low = provider("a", &["gpt-4.1"], 1, 0);
    let high = provider("b", &["gpt-4.1"], 2, 2);
    let equal = provider("c", &["gpt-4.1"], 2, 1);
    let choice = chosen(&seed(), None, &[low, high, equal]).unwrap();
    assert_eq!(choice.model, "c/gpt-4.1");
    assert_eq!(choice.fallbacks, ["b/gpt-4.1", "a/gpt-4.1"]);
}

#[test]
fn a_provider_that_cannot_be_asked_is_passed_over_with_its_reason() {
    let anthropic =
        not_ready(provider("anthropic", &[SONNET], 9, 0), "ANTHROPIC_API_KEY is not set");
    let openai = provider("openai", &["gpt-4.1"], 0, 1);
    let choice = chosen(&seed(), None, &[anthropic.clone(), openai]).unwrap();
    assert_eq!(choice.model, "openai/gpt-4.1");
    let why = CandidateOutcome::NotReady("ANTHROPIC_API_KEY is not set".to_owned());
    assert!(choice.steps.iter().any(|step| step.outcome == why));

    let none = chosen(&seed(), None, &[anthropic]).unwrap_err();
    assert!(none.to_string().contains("ANTHROPIC_API_KEY is not set"), "{none}");
    assert!(none.to_string().contains("gpt-4.1"), "{none}");
    assert!(none.hint().contains("set ANTHROPIC_API_KEY"), "{}", none.hint());
}

#[test]
fn without_a_match_the_system_default_takes_over_and_it_is_said() {
    let mut other = provider("other", &["small", "large"], 0, 0);
    let settings = chosen(&seed(), Some("large"), &[other.clone()]).unwrap();
    assert_eq!((settings.model.as_str(), settings.replaced), ("other/large", true));
    let first = chosen(&seed(), None, &[other.clone()]).unwrap();
    assert_eq!((first.model.as_str(), first.replaced), ("other/small", true));
    other.default_model = Some("large".to_owned());
    assert_eq!(chosen(&seed(), None, &[other.clone()]).unwrap().model, "other/large");
    other.default_model = Some("not-listed".to_owned());
    assert_eq!(chosen(&seed(), None, &[other]).unwrap().model, "other/small");
}

#[test]
fn the_default_of_a_provider_that_cannot_be_asked_is_not_taken() {
    let first = not_ready(provider("first", &["a"], 5, 0), "FIRST_KEY is not set");
    let empty = provider("empty", &[], 4, 1);
    let last = provider("last", &["b"], 0, 2);
    let choice = chosen(&agent(&[], &[]), None, &[first, empty, last]).unwrap();
    assert_eq!((choice.model.as_str(), choice.replaced), ("last/b", false));
}

#[test]
fn the_default_is_no_fallback_for_an_agent_whose_own_model_was_found() {
    let all = [provider("p", &["own", "default"], 0, 0)];
    let choice = chosen(&agent(&["own"], &[]), Some("default"), &all).unwrap();
    assert_eq!((choice.model.as_str(), choice.fallbacks.len()), ("p/own", 0));
    let choice = chosen(&agent(&["own"], &["default"]), Some("default"), &all).unwrap();
    assert_eq!(choice.fallbacks, ["p/default"]);
}

#[test]
fn allowed_models_keep_the_system_default_out() {
    let all = [provider("p", &["default", "chosen"], 0, 0)];
    let closed = agent(&["own"], &["chosen"]);
    let none = chosen(&closed, Some("default"), &all).unwrap_err();
    assert!(none.steps.iter().any(|step| step.outcome == CandidateOutcome::Refused), "{none}");
    assert_eq!(chosen(&closed, Some("chosen"), &all).unwrap().model, "p/chosen");
    assert_eq!(asked(&closed, "chosen", &all).unwrap().model, "p/chosen");
    let refused = asked(&closed, "default", &all).unwrap_err();
    assert!(matches!(refused.why, NoModelReason::Refused { .. }));
    assert_eq!(refused.hint(), "it may use: own, chosen");
}

#[test]
fn a_model_that_only_the_settings_name_does_not_bind_the_agent() {
    let mut models = agent(&[], &[]);
    for origin in ["environment AGENTRY_AGENT_MODEL", "flag -c agent.model=default", "agentry.toml"]
    {
        models.candidates = said(&["default"], origin);
        assert!(may_use(&models, "other").is_ok(), "{origin}");
    }
    let all = [provider("p", &["default", "other"], 0, 0)];
    assert_eq!(asked(&models, "other", &all).unwrap().model, "p/other");
    let choice = chosen(&models, Some("default"), &all).unwrap();
    assert_eq!((choice.model.as_str(), choice.fallbacks.len()), ("p/default", 0));
}

#[test]
fn what_a_person_asks_for_is_taken_or_nothing() {
    let all = [provider("a", &["x"], 1, 0), provider("b", &["x", "y"], 0, 1)];
    let choice = asked(&agent(&[], &[]), "x", &all).unwrap();
    assert_eq!((choice.model.as_str(), choice.fallbacks.len()), ("a/x", 0));
    assert_eq!(asked(&agent(&[], &[]), "b/x", &all).unwrap().model, "b/x");
    let none = asked(&agent(&[], &[]), "z", &all).unwrap_err();
    assert_eq!(none.why, NoModelReason::NoProvider);
    assert!(none.hint().contains("model_allowlist"), "{}", none.hint());
    let nobody = asked(&agent(&[], &[]), "z", &[]).unwrap_err();
    assert!(nobody.to_string().contains("there is no provider"), "{nobody}");
}

#[test]
fn a_name_with_a_slash_is_read_both_ways() {
    let router = provider("openrouter", &["anthropic/claude-x"], 9, 0);
    let anthropic = provider("anthropic", &["claude-x"], 0, 1);
    let open = agent(&[], &[]);
    let alone = asked(&open, "anthropic/claude-x", std::slice::from_ref(&router)).unwrap();
    assert_eq!(alone.model, "openrouter/anthropic/claude-x");
    let named = asked(&open, "anthropic/claude-x", &[router.clone(), anthropic.clone()]).unwrap();
    assert_eq!(named.model, "anthropic/claude-x");
    let full = asked(&open, "openrouter/anthropic/claude-x", &[router.clone(), anthropic]).unwrap();
    assert_eq!(full.model, "openrouter/anthropic/claude-x");
    // The agent names another model that only ends alike.
    let refused = asked(&agent(&["claude-x"], &[]), "anthropic/claude-x", &[router]).unwrap_err();
    assert!(matches!(refused.why, NoModelReason::Refused { .. }));
}

#[test]
fn a_provider_without_a_list_serves_its_catalogue_and_names_with_its_id() {
    let all = [implicit("ollama", &["llama3"])];
    let open = agent(&[], &[]);
    assert_eq!(asked(&open, "llama3", &all).unwrap().model, "ollama/llama3");
    assert_eq!(asked(&open, "ollama/new:7b", &all).unwrap().model, "ollama/new:7b");
    assert!(asked(&open, "new:7b", &all).is_err());
    assert!(asked(&open, "ollama/", &all).is_err());
}

#[test]
fn local_is_the_local_default_or_the_one_that_is_named() {
    let mut local = implicit("local", &["small", "coder"]);
    let open = agent(&[], &[]);
    assert_eq!(asked(&open, "local", &[local.clone()]).unwrap().model, "local/small");
    local.default_model = Some("coder".to_owned());
    assert_eq!(asked(&open, "local", &[local.clone()]).unwrap().model, "local/coder");
    assert_eq!(asked(&open, "local/small", &[local.clone()]).unwrap().model, "local/small");
    assert_eq!(
        asked(&agent(&["local"], &[]), "local/small", &[local]).unwrap().model,
        "local/small"
    );
}

#[test]
fn a_script_is_taken_as_it_is_and_nobody_who_costs_money_follows_it() {
    let all = [provider("p", &["x"], 0, 0)];
    let closed = agent(&["x"], &["y"]);
    assert_eq!(asked(&closed, "scripted:/a/b.jsonl", &all).unwrap().model, "scripted:/a/b.jsonl");
    assert!(may_use(&closed, "scripted:any").is_ok());
    let choice = chosen(&agent(&["scripted:a", "x", "scripted:b"], &[]), None, &all).unwrap();
    assert_eq!(
        (choice.model.as_str(), choice.fallbacks),
        ("scripted:a", vec!["scripted:b".into()])
    );
}

#[test]
fn whether_a_model_may_be_used_is_told_by_its_bare_and_its_whole_name() {
    let models = agent(&["gpt-4.1"], &["anthropic/claude-x", "local"]);
    for fits in ["gpt-4.1", "openai/gpt-4.1", "anthropic/claude-x", "claude-x", "local/any"] {
        assert!(may_use(&models, fits).is_ok(), "{fits}");
    }
    for other in ["gpt-4.1-mini", "gpt", "other/claude-x", "openai/gpt-4", ""] {
        assert!(may_use(&models, other).is_err(), "{other}");
    }
    assert!(may_use(&agent(&[], &[]), "anything").is_ok());
}

const NAMES: [&str; 5] = ["a", "b", "c", "p/a", "q/b"];

fn some_names() -> impl Strategy<Value = Vec<String>> {
    subsequence(NAMES.to_vec(), 0..=NAMES.len())
        .prop_shuffle()
        .prop_map(|names| names.into_iter().map(str::to_owned).collect())
}

fn some_provider(id: &'static str, order: usize) -> impl Strategy<Value = SelectableProvider> {
    let ready = select(vec![Ok(()), Ok(()), Err("KEY is not set".to_owned())]);
    (some_names(), some_names(), 0..3_i64, any::<bool>(), ready).prop_map(
        move |(listed, catalogue, priority, any, ready)| {
            let models = if any { ServedModels::Any } else { ServedModels::Listed(listed) };
            let default_model = catalogue.last().cloned();
            SelectableProvider {
                id: id.to_owned(),
                models,
                catalogue,
                default_model,
                priority,
                order,
                ready,
            }
        },
    )
}

fn some_providers() -> impl Strategy<Value = Vec<SelectableProvider>> {
    (some_provider("p", 0), some_provider("q", 1), some_provider("r", 2))
        .prop_map(|(p, q, r)| vec![p, q, r])
}

fn some_agent() -> impl Strategy<Value = AgentModels> {
    (some_names(), some_names()).prop_map(|(candidates, allowed)| {
        let names = |all: &[String]| {
            let refs: Vec<&str> = all.iter().map(String::as_str).collect();
            said(&refs, "agents/a/AGENT.md")
        };
        let (candidates, allowed) = (names(&candidates), names(&allowed));
        AgentModels { candidates, allowed, bound: true, ..AgentModels::default() }
    })
}

fn is_permitted(models: &AgentModels, full: &str) -> bool {
    let (_, bare) = full.split_once('/').expect("a chosen model has a provider");
    let mut named = models.candidates.iter().chain(&models.allowed);
    named.any(|one| one.value == full || one.value == bare)
}

proptest! {
    #[test]
    fn the_place_in_the_list_of_providers_does_not_matter(
        models in some_agent(),
        default in select(NAMES.to_vec()),
        (providers, shuffled) in some_providers()
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        let one = chosen(&models, Some(default), &providers);
        prop_assert_eq!(one, chosen(&models, Some(default), &shuffled));
    }

    #[test]
    fn no_model_outside_of_the_allowed_ones_is_ever_chosen(
        models in some_agent(),
        name in select(NAMES.to_vec()),
        ask in any::<bool>(),
        providers in some_providers(),
    ) {
        let (asks, default) = if ask { (Some(name), None) } else { (None, Some(name)) };
        let Ok(choice) = choose(&ModelPreferences { asked: asks, agent: &models, default }, &providers) else {
            return Ok(());
        };
        let named = !models.candidates.is_empty() || !models.allowed.is_empty();
        let open = !named;
        for model in choice.fallbacks.iter().chain([&choice.model]) {
            prop_assert!(open || is_permitted(&models, model), "{model}");
            prop_assert!(open || may_use(&models, model).is_ok(), "{model}");
        }
        prop_assert!(!ask || choice.fallbacks.is_empty());
    }

    #[test]
    fn everybody_who_is_asked_is_ready_and_serves_the_model(
        models in some_agent(),
        providers in some_providers(),
    ) {
        let Ok(choice) = chosen(&models, None, &providers) else { return Ok(()) };
        for full in choice.fallbacks.iter().chain([&choice.model]) {
            let (id, model) = full.split_once('/').unwrap();
            let provider = providers.iter().find(|one| one.id == id).unwrap();
            prop_assert!(provider.ready.is_ok());
            if let ServedModels::Listed(list) = &provider.models {
                prop_assert!(list.iter().any(|one| one == model));
            }
        }
    }

    #[test]
    fn nobody_with_a_higher_priority_is_left_out_for_a_bare_name(providers in some_providers()) {
        let Ok(choice) = asked(&agent(&[], &[]), "a", &providers) else { return Ok(()) };
        let (id, _) = choice.model.split_once('/').unwrap();
        let taken = providers.iter().find(|one| one.id == id).unwrap();
        for other in providers.iter().filter(|one| one.ready.is_ok()) {
            let has = match &other.models {
                ServedModels::Listed(list) => list,
                ServedModels::Any => &other.catalogue,
            };
            prop_assert!(other.priority <= taken.priority || !has.iter().any(|one| one == "a"));
        }
    }
}
