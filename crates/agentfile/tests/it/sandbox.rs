//! What settings and agent files say about the sandbox, and who may say what.

use agentry_agentfile::sandbox::{SandboxLayer, SettingsAuthor};

use crate::reading::{Given, check, given};

const AGENT: &str = "
--- agent.yml
name: Builder
security:
  allowWrite: [src, /srv/data]
  denyRead: [notes]
  allowedDomains: [api.github.com]
limits:
  timeout: 60000
  pids: 32
--- AGENT.md
Build.
";

/// Each value of a layer as `key = value (origin)`.
fn lines(layer: &SandboxLayer) -> Vec<String> {
    let all = layer.all().into_iter();
    all.map(|(key, value, origin)| format!("{key} = {value} ({origin})")).collect()
}

fn settings(given: &Given) -> (SandboxLayer, Vec<SandboxLayer>) {
    let (library, _) = given.read();
    let layers = library.settings.sandbox().clone();
    (layers.operator, layers.requests)
}

#[test]
fn the_operators_word_and_a_request_are_kept_apart() {
    let given = given(
        "
        --- agentry.toml
        [sandbox.security]
        allowWrite = [\"src\"]
        allowedDomains = [\"x.com\"]
        ",
    )
    .user_settings("[sandbox.security]\nallowedDomains = [\"*.com\"]\n[sandbox.limits]\npids = 9\n")
    .variable("AGENTRY_SANDBOX_LIMITS_FILES", "64")
    .flag("sandbox.limits.pids=8");
    given.check("");
    let (operator, requests) = settings(&given);
    assert_eq!(
        lines(&operator),
        [
            "limits.files = 64 (environment AGENTRY_SANDBOX_LIMITS_FILES)",
            "limits.pids = 8 (flag -c sandbox.limits.pids=8)",
            "security.allowedDomains = [\"*.com\"] (~/.config/agentry/agentry.toml:2:18)",
        ]
    );
    let request = &requests[0];
    assert_eq!((requests.len(), request.speaker), (1, SettingsAuthor::Project));
    assert_eq!(
        lines(request),
        [
            "security.allowWrite = [\"src\"] (agentry.toml:2:14)",
            "security.allowedDomains = [\"x.com\"] (agentry.toml:3:18)",
        ]
    );
    assert_eq!(request.origin("/security/allowedDomains/0").to_string(), "agentry.toml:3:19");
    let (library, _) = given.read();
    assert_eq!(library.settings.config.sandbox, operator.sandbox);
    let shown: Vec<String> = library.settings.all().into_iter().map(|(key, ..)| key).collect();
    assert_eq!(
        shown,
        [
            "sandbox.limits.files",
            "sandbox.limits.pids",
            "sandbox.security.allowWrite",
            "sandbox.security.allowedDomains",
            "sandbox.security.allowedDomains (asked)",
        ]
    );
}

const WIDE: &str = "
--- agentry.toml
[sandbox]
enabled = false
minimum = \"landlock\"
profile = \"host\"
git = \"write\"
env = [\"CI\"]
[sandbox.security]
read = \"broad\"
allowedAddresses = [\"127.0.0.1\"]
";

#[test]
fn what_only_the_operator_may_say_has_no_effect_in_a_project() {
    let given = given(WIDE);
    given.check(
        "
        E0906 warning agentry.toml:2:11
        E0906 warning agentry.toml:3:11
        E0906 warning agentry.toml:4:11
        E0906 warning agentry.toml:5:7
        E0906 warning agentry.toml:6:7
        E0906 warning agentry.toml:8:8
        E0906 warning agentry.toml:9:20
        ",
    );
    let (operator, requests) = settings(&given);
    assert_eq!(lines(&operator), [""; 0]);
    assert!(requests.is_empty(), "{requests:?}");
    let (_, findings) = given.read();
    let first = &findings.sorted()[0];
    assert_eq!(first.message, "the project may not switch the sandbox off; it has no effect");
    let help = first.help.as_deref();
    assert_eq!(help, Some("set `sandbox.enabled` in your own settings, as a variable or with -c"));
}

#[test]
fn the_same_words_are_the_operators_to_say() {
    let words = WIDE.trim_start_matches("\n--- agentry.toml\n");
    let mine = given("").user_settings(words);
    mine.check("");
    let (operator, _) = settings(&mine);
    assert_eq!(operator.sandbox.enabled, Some(false));
    assert_eq!(operator.sandbox.env.as_deref(), Some(&["CI".to_owned()][..]));
    // What the operator says as well is not wider.
    given(WIDE).user_settings(words).check("");
}

#[test]
fn a_request_may_be_stricter() {
    let given = given(
        "
        --- agentry.toml
        [sandbox]
        enabled = true
        minimum = \"ns\"
        profile = \"untrusted\"
        git = \"read\"
        env = []
        [sandbox.security]
        read = \"strict\"
        [sandbox.limits]
        strict = true
        ",
    );
    given.check("");
    assert_eq!(lines(&settings(&given).1[0]).len(), 7);
}

#[test]
fn a_variable_that_steers_programs_or_holds_a_key_is_refused() {
    let given = given("").user_settings(
        "[sandbox]\nenv = [\"CI\", \"LD_PRELOAD\", \"OPENAI_API_KEY\", \"not a name\"]\n",
    );
    given.check(
        "
        E0907 error ~/.config/agentry/agentry.toml:2:14
        E0907 error ~/.config/agentry/agentry.toml:2:28
        E0907 error ~/.config/agentry/agentry.toml:2:46
        ",
    );
    assert_eq!(settings(&given).0.sandbox.env, Some(vec!["CI".to_owned()]));
}

#[test]
fn a_domain_is_the_name_of_a_host() {
    let text = "
        --- agentry.toml
        [sandbox.security]
        allowedDomains = [\"\", \"https://x.com\", \"*.x.com\"]
        ";
    check(text, "E0908 error agentry.toml:2:19\nE0908 error agentry.toml:2:23");
    let asked = settings(&given(text)).1[0].sandbox.security.allowed_domains.clone();
    assert_eq!(asked, Some(vec!["*.x.com".to_owned()]));
}

#[test]
fn paths_and_limits_say_something() {
    check(
        "
        --- agentry.toml
        [sandbox.security]
        allowWrite = [\"\"]
        [sandbox.limits]
        timeout = 0
        ",
        "E0305 error agentry.toml:2:15\nE0305 error agentry.toml:4:11",
    );
}

#[test]
fn an_agents_files_ask() {
    let agent = given(AGENT).agent("agent");
    let [asked] = agent.powers.confinement.as_slice() else { panic!("one file asks") };
    assert_eq!(asked.speaker, SettingsAuthor::Agent);
    assert_eq!(
        lines(asked),
        [
            "limits.pids = 32 (agent.yml:8:9)",
            "limits.timeout = 60000 (agent.yml:7:12)",
            "security.allowWrite = [\"src\",\"/srv/data\"] (agent.yml:3:15)",
            "security.allowedDomains = [\"api.github.com\"] (agent.yml:5:19)",
            "security.denyRead = [\"notes\"] (agent.yml:4:13)",
        ]
    );
    let json = serde_json::to_value(&agent).unwrap();
    assert_eq!(json["powers"]["confinement"][0]["limits.pids"]["origin"], "agent.yml:8:9");
}

#[test]
fn front_matter_and_an_agents_own_settings_ask_too() {
    let given = given(
        "
        --- agentry.toml
        [sandbox.limits]
        pids = 100
        --- .agentry/agents/coder/AGENT.md
        ---
        name: Coder
        security:
          allowWrite: [src]
          allowedAddresses: [10.0.0.1]
        limits: { memory: 1000000 }
        ---
        Code.
        --- .agentry/agents/coder/agentry.toml
        [sandbox]
        enabled = false
        [sandbox.limits]
        pids = 50
        ",
    );
    given.check(
        "
        E0906 warning .agentry/agents/coder/AGENT.md:5:21
        E0906 warning .agentry/agents/coder/agentry.toml:2:11
        ",
    );
    let agent = given.agent("coder");
    let asked: Vec<String> = agent.powers.confinement.iter().flat_map(lines).collect();
    assert_eq!(
        asked,
        [
            "limits.pids = 50 (.agentry/agents/coder/agentry.toml:4:8)",
            "limits.memory = 1000000 (.agentry/agents/coder/AGENT.md:6:19)",
            "security.allowWrite = [\"src\"] (.agentry/agents/coder/AGENT.md:4:15)",
        ]
    );
    // The project's own stand with the project.
    assert_eq!(settings(&given).1.len(), 1);
}

#[test]
fn a_field_that_asks_for_nothing_or_for_something_unknown() {
    let agent = |fields: &str| format!("--- agent.yml\nname: A\n{fields}\n--- AGENT.md\nWork.\n");
    check(&agent("security:\nlimits:\n  pids: 3"), "");
    let kept = given(&agent("security:\nlimits:\n  pids: 3")).agent("agent").powers.confinement;
    assert_eq!(lines(&kept[0]), ["limits.pids = 3 (agent.yml:4:9)"]);
    check(&agent("security:\n  allowRite: [x]"), "E0301 error agent.yml:3:3");
    check(&agent("limits: {pids: many}"), "E0303 error agent.yml:2:16");
    check(&agent("sandbox: {enabled: false}"), "E0301 error agent.yml:2:1");
}
