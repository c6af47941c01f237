//! `agentry.toml` and what is laid over it: user, project, environment, flags.

use agentry_agentfile::manifest::config::{Dollars, UnknownPrice};

use crate::reading::{Given, check, given};

/// All values that were said, with where.
fn said(given: &Given) -> Vec<String> {
    let (library, _) = given.read();
    let all = library.settings.all();
    all.into_iter().map(|(key, value, origin)| format!("{key} = {value} ({origin})")).collect()
}

#[test]
fn later_layers_win_and_every_value_knows_its_layer() {
    let given = given(
        "
        --- agentry.toml
        [agent]
        name = \"project\"
        model = \"project\"
        persona = \"project\"
        ",
    )
    .user_settings(
        "[agent]\nname = \"user\"\nmodel = \"user\"\npersona = \"user\"\n[user]\nname = \"Ada\"\n",
    )
    .variable("AGENTRY_AGENT_MODEL", "variable")
    .variable("AGENTRY_AGENT_PERSONA", "variable")
    .flag("agent.persona=flag");
    given.check("");
    assert_eq!(
        said(&given),
        [
            "agent.model = \"variable\" (environment AGENTRY_AGENT_MODEL)",
            "agent.name = \"project\" (agentry.toml:2:8)",
            "agent.persona = \"flag\" (flag -c agent.persona=flag)",
            "user.name = \"Ada\" (~/.config/agentry/agentry.toml:6:8)",
        ]
    );
}

#[test]
fn a_later_layer_may_put_a_value_where_an_earlier_one_has_a_table() {
    // The deeper key came later in the order of keys, so the user's won over the project's.
    let one =
        given("--- agentry.toml\n[agent.args]\nx = 1\n").user_settings("[agent.args.x]\ny = 2\n");
    assert_eq!(said(&one), ["agent.args.x = 1 (agentry.toml:2:5)"]);
    let other =
        given("--- agentry.toml\n[agent.args.x]\ny = 2\n").user_settings("[agent.args]\nx = 1\n");
    assert_eq!(said(&other), ["agent.args.x.y = 2 (agentry.toml:2:5)"]);
    let (library, _) = other.read();
    assert_eq!(library.settings.config.agent.args["x"]["y"], 2);
}

#[test]
fn a_variable_has_the_type_of_its_setting() {
    let given = given("")
        .variable("AGENTRY_LIMITS_STEPS", "12")
        .variable("AGENTRY_AGENT_NAME", "12")
        .variable("AGENTRY_SANDBOX_ENABLED", "false")
        .variable("AGENTRY_SANDBOX_SECURITY_ALLOW_WRITE", "src, tests")
        .variable("AGENTRY_SKILLS_ROOTS", "[\"a\"]")
        .variable("AGENTRY_HOME", "/x")
        .variable("AGENTRY_LOG", "debug");
    given.check("");
    assert_eq!(
        said(&given),
        [
            "agent.name = \"12\" (environment AGENTRY_AGENT_NAME)",
            "limits.steps = 12 (environment AGENTRY_LIMITS_STEPS)",
            "sandbox.enabled = false (environment AGENTRY_SANDBOX_ENABLED)",
            "sandbox.security.allowWrite = [\"src\",\"tests\"] (environment AGENTRY_SANDBOX_SECURITY_ALLOW_WRITE)",
            "skills.roots = [\"a\"] (environment AGENTRY_SKILLS_ROOTS)",
        ]
    );
}

#[test]
fn a_variable_without_meaning_or_with_a_wrong_value_is_named() {
    given("")
        .variable("AGENTRY_AGENT_MODLE", "x")
        .variable("AGENTRY_LIMITS_STEPS", "many")
        .variable("AGENTRY_SANDBOX_PROFILE", "none")
        .check(
            "
            E0904 warning environment AGENTRY_AGENT_MODLE:1:1
            E0303 error environment AGENTRY_LIMITS_STEPS:1:16
            E0304 error environment AGENTRY_SANDBOX_PROFILE:1:19
            ",
        );
}

#[test]
fn a_flag_is_a_key_and_a_value() {
    given("").flag("agent.model").check("E0905 error flag -c agent.model:1:1");
    given("").flag("agent.modle=x").check("E0301 error flag -c agent.modle=x:1:7");
    given("").flag("limits.steps=many").check("E0303 error flag -c limits.steps=many:1:16");
    given("").flag("agent model=x").check("E0211 error flag -c agent model=x:1:7");
    assert_eq!(
        said(
            &given("").flag(" agent.model = gpt-4.1").flag("limits.steps=3").flag("agent.name=a=b")
        ),
        [
            "agent.model = \"gpt-4.1\" (flag -c agent.model = gpt-4.1)",
            "agent.name = \"a=b\" (flag -c agent.name=a=b)",
            "limits.steps = 3 (flag -c limits.steps=3)",
        ]
    );
}

#[test]
fn each_field_of_the_settings_is_checked_at_its_place() {
    check(
        "
        --- agentry.toml
        [agnt]
        name = \"x\"
        [agent]
        model = 5
        [sandbox]
        minimum = \"jail\"
        [limits]
        steps = -1
        calls = 1.5
        iterations = 1e30
        [providers.a]
        kind = \"gpt\"
        model_allowlist = [\"m-1\", 2]
        ",
        "
        E0301 error agentry.toml:1:2
        E0303 error agentry.toml:4:9
        E0304 error agentry.toml:6:11
        E0305 error agentry.toml:8:9
        E0303 error agentry.toml:9:9
        E0305 error agentry.toml:10:14
        E0304 error agentry.toml:12:8
        E0303 error agentry.toml:13:27
        ",
    );
}

#[test]
fn one_wrong_value_does_not_take_the_other_settings_away() {
    let given = given(
        "
        --- agentry.toml
        [sandbox]
        enabled = true
        [limits]
        steps = 8.0
        calls = \"x\"
        ",
    );
    let (library, _) = given.read();
    let asked = &library.settings.sandbox().requests[0].sandbox;
    assert_eq!(asked.enabled, Some(true));
    assert_eq!(library.settings.config.limits.steps, Some(8));
    given.check("E0303 error agentry.toml:5:9");
}

#[test]
fn a_provider_without_models_serves_nothing() {
    check(
        "
        --- agentry.toml
        [providers.a]
        kind = \"anthropic\"
        [providers.b]
        model_allowlist = []
        [providers.c]
        model_allowlist = [\"m-1\"]
        ",
        "
        E0901 warning agentry.toml:2:8
        E0901 warning agentry.toml:4:19
        ",
    );
}

#[test]
fn a_server_has_a_command_or_a_url_that_fits_its_transport() {
    check(
        "
        --- agentry.toml
        [[mcp.servers]]
        id = \"a\"
        command = [\"x\", \"y\"]
        [[mcp.servers]]
        id = \"b\"
        [[mcp.servers]]
        id = \"c\"
        url = \"https://x\"
        command = \"x\"
        [[mcp.servers]]
        id = \"d\"
        url = \"https://x\"
        transport = \"stdio\"
        [[mcp.servers]]
        command = \"x\"
        [[mcp.servers]]
        id = \"a\"
        command = \"z\"
        --- .mcp.json
        {\"mcpServers\": {
          \"e\": {\"type\": \"pigeon\", \"command\": \"x\"},
          \"f\": {},
          \"g\": {\"command\": \"x\", \"url\": \"https://x\"}
        }}
        ",
        "
        E0304 error .mcp.json:2:17
        E0903 error .mcp.json:3:3
        E0903 error .mcp.json:4:3
        E0903 error agentry.toml:4:1
        E0903 error agentry.toml:6:1
        E0903 error agentry.toml:10:1
        E0302 error agentry.toml:14:1
        E0424 warning agentry.toml:17:6
        ",
    );
}

#[test]
fn servers_of_both_files_are_known_and_the_settings_win() {
    let (library, _) = given(
        "
        --- agentry.toml
        [[mcp.servers]]
        id = \"a\"
        command = \"x\"
        args = [\"-v\"]
        --- .mcp.json
        {\"mcpServers\": {\"a\": {\"url\": \"https://a\"}, \"b\": {\"command\": \"y\", \"args\": [\"1\"]}}}
        ",
    )
    .read();
    let servers: Vec<String> = library
        .mcp
        .values()
        .map(|one| format!("{} {:?} {}", one.id, one.reach, one.origin))
        .collect();
    assert_eq!(
        servers,
        ["a Command([\"x\", \"-v\"]) agentry.toml:1:1", "b Command([\"y\", \"1\"]) .mcp.json:1:44"]
    );
}

#[test]
fn the_rules_are_where_the_settings_say() {
    check("--- agentry.toml\n[rules]\nroot = \"RULES.md\"", "E0902 warning agentry.toml:2:8");
    check("--- agentry.toml\n[rules]\nroot = \"../x\"", "E0902 warning agentry.toml:2:8");
    check("--- agentry.toml\n[rules]\nroot = \"./docs/R.md\"\n--- docs/R.md\nBe kind.", "");
    let (library, _) = given("--- AGENTS.md\nBe kind.").read();
    assert_eq!(library.rules.unwrap().value, "Be kind.");
}

#[test]
fn the_default_agent_exists() {
    let agent = "--- .agentry/agents/coder/AGENT.md\n---\nname: c\n---\n--- agentry.toml\n";
    check(&format!("{agent}[agent]\ndefault = \"coder\""), "");
    check(&format!("{agent}[agent]\ndefault = \"codr\""), "E0423 error agentry.toml:2:11");
    given(agent).flag("agent.default=codr").check("E0423 error flag -c agent.default=codr:1:17");
}

#[test]
fn only_the_operator_says_who_gets_a_secret() {
    let own =
        "[secrets]\nstore = \"file\"\n[secrets.github]\nfor = [\"tool:bash\"]\nas = \"TOKEN\"\n";
    let given = given("--- agentry.toml\n[secrets.github]\nfor = [\"tool:web_fetch\"]\n")
        .user_settings(own)
        .flag("secrets.npm.env=NPM_TOKEN");
    given.check("E0909 error agentry.toml:1:2");
    assert_eq!(
        said(&given),
        [
            "secrets.github.as = \"TOKEN\" (~/.config/agentry/agentry.toml:5:6)",
            "secrets.github.for = [\"tool:bash\"] (~/.config/agentry/agentry.toml:4:7)",
            "secrets.npm.env = \"NPM_TOKEN\" (flag -c secrets.npm.env=NPM_TOKEN)",
            "secrets.store = \"file\" (~/.config/agentry/agentry.toml:2:9)",
        ]
    );
    let (library, _) = given.read();
    let secrets = &library.settings.config.secrets;
    assert_eq!(secrets.named["github"].receivers, ["tool:bash"]);
    assert_eq!(secrets.named["npm"].env.as_deref(), Some("NPM_TOKEN"));
}

#[test]
fn the_agent_in_a_project_does_not_say_it_either() {
    check(
        "
        --- one/agent.yml
        name: one
        --- one/AGENT.md
        Hi.
        --- one/agentry.toml
        [secrets.github]
        for = [\"tool:bash\"]
        ",
        "E0909 error one/agentry.toml:1:2",
    );
}

#[test]
fn a_project_does_not_say_which_time_zone_is_the_owners() {
    let given = given("--- agentry.toml\ntimezone = \"Asia/Tokyo\"\n")
        .user_settings("timezone = \"Europe/Berlin\"\n");
    given.check("E0906 warning agentry.toml:1:1");
    let (library, _) = given.read();
    assert_eq!(library.settings.config.timezone.as_deref(), Some("Europe/Berlin"));
}

#[test]
fn a_receiver_and_a_variable_of_a_secret_have_a_form() {
    given("")
        .user_settings("[secrets.a]\nfor = [\"bash\"]\nas = \"A B\"\nvalue = \"x\"\n[secrets]\nstore = \"vault\"\n")
        .check(
            "
            E0305 error ~/.config/agentry/agentry.toml:2:8
            E0305 error ~/.config/agentry/agentry.toml:3:6
            E0301 error ~/.config/agentry/agentry.toml:4:1
            E0304 error ~/.config/agentry/agentry.toml:6:9
            ",
        );
}

#[test]
fn a_project_lowers_what_may_be_spent_and_never_raises_it() {
    let given = given(
        "
        --- agentry.toml
        [limits.spending]
        run = 0.25
        session = 3
        day = 9.5
        unknown = \"allow\"
        ",
    )
    .user_settings("[limits.spending]\nrun = 1\nday = 2\nunknown = \"refuse\"\n");
    given.check("E0906 warning agentry.toml:4:7\nE0906 warning agentry.toml:5:11");
    let (library, _) = given.read();
    let spending = &library.settings.config.limits.spending;
    let nano = |amount: Option<Dollars>| amount.map(Dollars::nano);
    assert_eq!(nano(spending.run), Some(250_000_000));
    assert_eq!(nano(spending.session), Some(3_000_000_000));
    assert_eq!(nano(spending.day), Some(2_000_000_000));
    assert_eq!(spending.unknown, Some(UnknownPrice::Refuse));
    assert_eq!(
        said(&given),
        [
            "limits.spending.day = 2 (~/.config/agentry/agentry.toml:3:7)",
            "limits.spending.run = 0.25 (agentry.toml:2:7)",
            "limits.spending.session = 3 (agentry.toml:3:11)",
            "limits.spending.unknown = \"refuse\" (~/.config/agentry/agentry.toml:4:11)",
        ]
    );
}

#[test]
fn a_variable_or_a_flag_does_not_lift_what_a_project_asks_for() {
    let given = given("--- agentry.toml\n[limits.spending]\nrun = 1\nday = 1\n")
        .variable("AGENTRY_LIMITS_SPENDING_RUN", "5")
        .flag("limits.spending.day=0.5");
    given.check("E0906 warning agentry.toml:3:7");
    let (library, _) = given.read();
    let spending = &library.settings.config.limits.spending;
    assert_eq!(spending.run.map(Dollars::nano), Some(1_000_000_000));
    assert_eq!(spending.day.map(Dollars::nano), Some(500_000_000));
}

#[test]
fn an_amount_is_a_number_of_dollars_that_is_not_below_nothing() {
    check(
        "
        --- agentry.toml
        [limits.spending]
        run = -0.01
        session = \"1\"
        day = 2e9
        unknown = \"maybe\"
        week = 1
        ",
        "
        E0305 error agentry.toml:2:7
        E0303 error agentry.toml:3:11
        E0305 error agentry.toml:4:7
        E0304 error agentry.toml:5:11
        E0301 error agentry.toml:6:1
        ",
    );
}

#[test]
fn only_the_operator_says_how_often_others_may_ask() {
    let given = given("--- agentry.toml\n[requests]\npending_max = 100\ncooldown_s = 0\n")
        .user_settings("[requests]\npending_max = 2\n")
        .flag("requests.block_h=1");
    given.check("E0906 warning agentry.toml:1:2");
    let (library, _) = given.read();
    let requests = &library.settings.config.requests;
    assert_eq!(requests.pending_max, Some(2));
    assert_eq!(requests.cooldown_s, None);
    assert_eq!(requests.block_h, Some(1));
}

#[test]
fn the_limits_of_requests_have_bounds() {
    let given = given("--- agentry.toml\n").user_settings(
        "[requests]\nexpires_h = 0\npending_max = 1001\nblock_h = 8761\ncooldown_s = -1\n",
    );
    let (library, findings) = given.read();
    assert_eq!(findings.len(), 4, "{findings:?}");
    assert_eq!(library.settings.config.requests, Default::default());
}
