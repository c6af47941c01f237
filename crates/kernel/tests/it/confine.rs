//! From the operator's ceiling and what is asked for to what holds.

use std::collections::{BTreeMap, BTreeSet};

use agentry_agentfile::config::{self, ConfigLayers};
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::manifest::config::{
    SandboxLevel, SandboxLimits, SandboxProfile, SandboxToml, Security,
};
use agentry_agentfile::sandbox::{SandboxLayer, SettingsAuthor};
use agentry_agentfile::source::SourceText;
use agentry_kernel::confinement::{
    ConfinementContext, ConfinementError, DroppedSetting, is_strict, listed_paths, minimum, resolve,
};
use agentry_protocol::AgentId;
use agentry_protocol::confinement::{
    Confinement, ConfinementLevel, ConfinementLimits, ConfinementProfile, GitAccess, NetworkAccess,
    ReadAccess,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

const SETTINGS: &str = "/people/me/.config/agentry/agentry.toml";

fn place() -> ConfinementContext {
    ConfinementContext {
        workspace: "/ws/site".to_owned(),
        project: "/ws/site".to_owned(),
        home: Some("/people/me".to_owned()),
        state: Some("/people/me/.local/state/agentry".to_owned()),
        agent: Some(AgentId::new("coder")),
        agent_directory: "/ws/site/.agentry/agents/coder".to_owned(),
        toolchains: vec!["/people/me/.cargo/bin".to_owned(), "/people/me/.rustup".to_owned()],
        definitions: vec!["/ws/site/agentry.toml".to_owned()],
        real: BTreeMap::new(),
        settings: SETTINGS.to_owned(),
        sender: None,
        credentials: Vec::new(),
    }
}

/// The operator's settings, then a project's.
struct Given {
    operator: SandboxLayer,
    requests: Vec<SandboxLayer>,
    place: ConfinementContext,
}

fn given(operator: &str, project: &str) -> Given {
    let layers = ConfigLayers {
        user: Some(SourceText::new(SETTINGS, operator)),
        project: Some(SourceText::new("agentry.toml", project)),
        ..ConfigLayers::default()
    };
    let mut findings = Findings::default();
    let settings = config::layered(&layers, &mut findings);
    assert!(findings.sorted().is_empty(), "{:?}", findings.sorted());
    let all = settings.sandbox().clone();
    Given { operator: all.operator, requests: all.requests, place: place() }
}

impl Given {
    fn resolve(&self) -> Result<(Confinement, Vec<DroppedSetting>), ConfinementError> {
        let requests: Vec<&SandboxLayer> = self.requests.iter().collect();
        resolve(ConfinementLevel::Ns, &self.operator, &requests, &self.place)
    }

    #[track_caller]
    fn holds(&self) -> (Confinement, Vec<String>) {
        let (confinement, notes) = self.resolve().expect("the ceiling can be held");
        (confinement, notes.iter().map(ToString::to_string).collect())
    }
}

#[track_caller]
fn written(operator: &str, project: &str, expected: &[&str]) -> Vec<String> {
    let (confinement, notes) = given(operator, project).holds();
    assert_eq!(confinement.allow_write, expected);
    notes
}

#[test]
fn nothing_said_is_the_workspace_and_nothing_reached() {
    let (confinement, notes) = given("", "").holds();
    assert_eq!(confinement.profile, ConfinementProfile::Trusted);
    assert_eq!(confinement.allow_write, ["/ws/site"]);
    assert_eq!(confinement.allow_read, ["/people/me/.cargo/bin", "/people/me/.rustup", "/ws/site"]);
    assert_eq!(confinement.reading, ReadAccess::Strict);
    assert_eq!(confinement.git, GitAccess::Read);
    assert_eq!(confinement.network, NetworkAccess::None);
    assert_eq!(confinement.limits, ConfinementLimits::default());
    assert_eq!(confinement.home, None);
    for denied in [
        "/people/me/.ssh",
        "/people/me/.cargo/credentials*",
        "/people/me/.local/state/agentry",
        "/ws/site/.env",
        "/ws/site/.env.*",
    ] {
        assert!(confinement.deny_read.iter().any(|one| one == denied), "{denied}");
    }
    for denied in ["/ws/site/agentry.toml", SETTINGS] {
        assert!(confinement.deny_write.iter().any(|one| one == denied), "{denied}");
    }
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn a_profile_sets_what_is_not_said() {
    let (untrusted, _) = given("[sandbox]\nprofile = \"untrusted\"", "").holds();
    assert_eq!(untrusted.allow_write, [""; 0]);
    assert_eq!(untrusted.allow_read, ["/ws/site"]);
    assert_eq!(untrusted.home, None);
    let (host, _) = given("[sandbox]\nprofile = \"host\"", "").holds();
    assert_eq!((host.profile, host.reading), (ConfinementProfile::Host, ReadAccess::Broad));
    let own = "[sandbox]\nprofile = \"untrusted\"\n[sandbox.security]\nallowWrite = [\"out\"]";
    written(own, "", &["/ws/site/out"]);
}

#[test]
fn a_request_chooses_a_stricter_profile() {
    let (confinement, _) = given(
        "[sandbox]\nprofile = \"host\"\ngit = \"write\"",
        "[sandbox]\nprofile = \"untrusted\"\ngit = \"read\"",
    )
    .holds();
    assert_eq!(confinement.profile, ConfinementProfile::Untrusted);
    assert_eq!(confinement.reading, ReadAccess::Strict);
    assert_eq!(confinement.git, GitAccess::Read);
    assert_eq!(confinement.allow_write, [""; 0]);
}

#[test]
fn a_request_that_says_nothing_about_reading_leaves_it_as_it_is() {
    let reading = |project: &str| {
        let (confinement, _) = given("[sandbox]\nprofile = \"host\"", project).holds();
        confinement.reading
    };
    assert_eq!(reading(""), ReadAccess::Broad);
    assert_eq!(reading("[sandbox]\ngit = \"read\""), ReadAccess::Broad);
    assert_eq!(reading("[sandbox]\nprofile = \"trusted\""), ReadAccess::Strict);
    assert_eq!(reading("[sandbox.security]\nread = \"strict\""), ReadAccess::Strict);
}

#[test]
fn a_request_narrows_what_is_written() {
    let allow = |list: &str| format!("[sandbox.security]\nallowWrite = {list}");
    written("", &allow("['src', './tests/']"), &["/ws/site/src", "/ws/site/tests"]);
    written("", &allow("[]"), &[]);
    written("", &allow("['/']"), &["/ws/site"]);
    let own = allow("['src', '~/notes', '/srv/data']");
    written(&own, "", &["/people/me/notes", "/srv/data", "/ws/site/src"]);
    written(&own, &allow("['/srv']"), &["/srv/data"]);
    let notes = written(&own, &allow("['src/a', '/srv/other', '../site2']"), &["/ws/site/src/a"]);
    assert_eq!(
        notes,
        [
            "the project asks for `/srv/other`; your settings do not allow it: add it to \
             sandbox.security.allowWrite in /people/me/.config/agentry/agentry.toml (agentry.toml:2:24)",
            "the project asks for `../site2`; your settings do not allow it: add it to \
             sandbox.security.allowWrite in /people/me/.config/agentry/agentry.toml (agentry.toml:2:38)",
        ]
    );
}

#[test]
fn a_pattern_is_no_directory_to_be_written() {
    let notes = written("", "[sandbox.security]\nallowWrite = ['src/*']", &[]);
    let expected = "the project asks for `src/*`; your settings do not allow it: add it to \
                    sandbox.security.allowWrite in /people/me/.config/agentry/agentry.toml (agentry.toml:2:15)";
    assert_eq!(notes, [expected]);
}

#[test]
fn what_the_project_does_not_ask_for_an_agent_does_not_get() {
    let mut given = given("", "[sandbox.security]\nallowWrite = [\"src\"]");
    let mut agent = SandboxLayer::of(SettingsAuthor::Agent);
    agent.sandbox.security.allow_write = Some(vec!["src/a".to_owned(), "docs".to_owned()]);
    given.requests.push(agent);
    let (confinement, notes) = given.holds();
    assert_eq!(confinement.allow_write, ["/ws/site/src/a"]);
    assert!(
        notes[0].contains("the agent asks for `docs`; your settings allow it, but"),
        "{notes:?}"
    );
}

#[test]
fn a_link_is_where_it_leads() {
    let mut given = given("", "[sandbox.security]\nallowWrite = [\"src\", \"out\"]");
    let all =
        listed_paths(&given.operator, &given.requests.iter().collect::<Vec<_>>(), &given.place);
    assert_eq!(all, BTreeSet::from(["/ws/site/out".to_owned(), "/ws/site/src".to_owned()]));
    given.place.real = BTreeMap::from([("/ws/site/out".to_owned(), "/people/me".to_owned())]);
    let (confinement, notes) = given.holds();
    assert_eq!(confinement.allow_write, ["/ws/site/src"]);
    assert_eq!(notes.len(), 1);
}

#[test]
fn some_directories_are_never_writable_as_a_whole() {
    for root in [
        "/",
        "/home",
        "/people/me",
        "/home/you", // tidy-allow: homes are told by where they are
        "~",
        "/root",
        "/tmp",
        "/etc",
        "/etc/x",
        "/usr",
        "/var",
        "/proc/1",
        "../../..",
        "~/.local",
        "~/.local/state/agentry",
        "~/.local/state/agentry/homes/x",
    ] {
        let given = given(&format!("[sandbox.security]\nallowWrite = ['{root}']"), "");
        let refused = given.resolve().expect_err(root);
        assert_eq!(refused.origin.to_string(), format!("{SETTINGS}:2:15"), "{root}");
    }
    for root in ["/tmp/x", "/people/me/x", "/var/lib/x", "/srv/x", "~/.local/share/x"] {
        given(&format!("[sandbox.security]\nallowWrite = ['{root}']"), "").holds();
    }
    let mut at_home = given("", "");
    at_home.place.workspace = "/people/me".to_owned();
    let refused = at_home.resolve().expect_err("the workspace is the home");
    assert_eq!(
        refused.to_string(),
        "`/people/me` may not be writable as a whole: it holds the runtime's own files in \
         /people/me/.local/state/agentry (built-in); work in a directory of its own, or list directories in \
         sandbox.security.allowWrite in /people/me/.config/agentry/agentry.toml"
    );
}

#[test]
fn what_anybody_denies_is_denied() {
    let (confinement, _) = given(
        "[sandbox.security]\ndenyRead = [\"/srv/keys\"]\ndenyWrite = [\"a\"]",
        "[sandbox.security]\ndenyRead = [\"notes\", \"~/mail*\"]\ndenyWrite = [\"b\"]",
    )
    .holds();
    for path in ["/srv/keys", "/ws/site/notes", "/people/me/mail*"] {
        assert!(confinement.deny_read.iter().any(|one| one == path), "{path}");
    }
    for path in ["/ws/site/a", "/ws/site/b"] {
        assert!(confinement.deny_write.iter().any(|one| one == path), "{path}");
    }
    let one = given("", "[sandbox.security]\ndenyRead = [\"x\"]");
    let with_link = Given {
        place: ConfinementContext {
            real: BTreeMap::from([("/ws/site/x".to_owned(), "/srv/y".to_owned())]),
            ..place()
        },
        ..one
    };
    let (confinement, _) = with_link.holds();
    for path in ["/ws/site/x", "/srv/y"] {
        assert!(confinement.deny_read.iter().any(|one| one == path), "{path}");
    }
}

#[test]
fn a_denial_that_cannot_be_held_is_refused() {
    for (key, text) in [
        ("denyRead", "**/*.pem"),
        ("denyWrite", "a/*/b"),
        ("allowWrite", "src*"),
        ("allowRead", "~you"),
    ] {
        let refused = given(&format!("[sandbox.security]\n{key} = ['{text}']"), "").resolve();
        let refused = refused.expect_err(text);
        assert_eq!(
            refused.what,
            format!("`{text}` in sandbox.security.{key} is not a path that can be held")
        );
    }
    given("", "[sandbox.security]\ndenyRead = ['**/x']").resolve().expect_err("a request as well");
}

#[test]
fn what_is_read_beside_the_work_is_the_operators() {
    let allow = |list: &str| format!("[sandbox.security]\nallowRead = {list}");
    let read = |operator: &str, project: &str| {
        let (confinement, notes) = given(operator, project).holds();
        let own = |path: &String| !path.contains("/.") && path != "/ws/site";
        (confinement.allow_read.into_iter().filter(own).collect::<Vec<_>>(), notes.len())
    };
    assert_eq!(
        read(&allow("['/data', '~/x']"), ""),
        (vec!["/data".into(), "/people/me/x".into()], 0)
    );
    assert_eq!(
        read(&allow("['/data']"), &allow("['/data/a', 'docs']")),
        (vec!["/data/a".into()], 0)
    );
    assert_eq!(read("", &allow("['/data']")), (vec![], 1));
    // What is denied is not read, whoever allows it.
    assert_eq!(read(&allow("['~/.ssh/keys', '~/.aws']"), ""), (vec![], 0));
    let both = "[sandbox.security]\nallowRead = ['/data/a/b']\ndenyRead = ['/data/a*']";
    assert_eq!(read(both, ""), (vec![], 0));
}

#[test]
fn domains_are_common_to_both() {
    let allow = |list: &str| format!("[sandbox.security]\nallowedDomains = {list}");
    let reached = |operator: &str, project: &str| {
        let (confinement, notes) = given(operator, project).holds();
        match confinement.network {
            NetworkAccess::None => (Vec::new(), notes),
            NetworkAccess::Domains { allow, .. } => (allow, notes),
        }
    };
    assert_eq!(reached(&allow("['*.x.com']"), "").0, ["*.x.com"]);
    assert_eq!(reached(&allow("['*.x.com']"), &allow("['a.x.com']")).0, ["a.x.com"]);
    assert_eq!(reached(&allow("['a.x.com']"), &allow("['*.x.com']")).0, ["a.x.com"]);
    assert_eq!(reached(&allow("['x.com']"), &allow("[]")).0, [""; 0]);
    let (none, notes) = reached("", &allow("['example.com']"));
    assert!(none.is_empty());
    assert_eq!(
        notes,
        ["the project asks for `example.com`; your settings do not allow it: add it to \
          sandbox.security.allowedDomains in /people/me/.config/agentry/agentry.toml (agentry.toml:2:19)"]
    );
    let mut blank = given("", "");
    blank.operator.sandbox.security.allowed_domains = Some(vec![" ".to_owned()]);
    blank.resolve().expect_err("a blank is no name");
    let own = "[sandbox.security]\nallowedDomains = ['x.com']\nallowedAddresses = ['127.0.0.1']";
    let (confinement, _) = given(own, "").holds();
    let network =
        NetworkAccess::Domains { allow: vec!["x.com".into()], addresses: vec!["127.0.0.1".into()] };
    assert_eq!(confinement.network, network);
}

#[test]
fn the_smallest_limit_holds() {
    let (confinement, notes) = given(
        "[sandbox.limits]\nmemory = 1000\npids = 500",
        "[sandbox.limits]\nmemory = 2000\npids = 100\ntimeout = 28_800_000",
    )
    .holds();
    let limits = ConfinementLimits {
        memory_bytes: 1000,
        processes: 100,
        timeout_ms: 120_000,
        ..ConfinementLimits::default()
    };
    assert_eq!(confinement.limits, limits);
    assert_eq!(
        notes,
        [
            "the project asks for 28800000 in sandbox.limits.timeout; your settings allow 120000: raise \
             it in /people/me/.config/agentry/agentry.toml (agentry.toml:4:11)",
            "the project asks for 2000 in sandbox.limits.memory; your settings allow 1000: raise it in \
             /people/me/.config/agentry/agentry.toml (agentry.toml:2:10)",
        ]
    );
}

#[test]
fn a_request_for_just_what_is_allowed_is_not_noted() {
    let limits = "[sandbox.limits]\nmemory = 1000";
    assert_eq!(given(limits, limits).holds().1, [""; 0]);
}

#[test]
fn the_strictest_level_and_the_strictest_word_hold() {
    let one = given(
        "[sandbox]\nminimum = \"landlock\"",
        "[sandbox]\nminimum = \"bwrap\"\n[sandbox.limits]\nstrict = true",
    );
    let requests: Vec<&SandboxLayer> = one.requests.iter().collect();
    assert_eq!(minimum(&one.operator, &[]), ConfinementLevel::Landlock);
    assert_eq!(minimum(&one.operator, &requests), ConfinementLevel::Bwrap);
    assert!(!is_strict(&one.operator, &[]) && is_strict(&one.operator, &requests));
}

const PATHS: [&str; 16] = [
    ".",
    "src",
    "src/a",
    "tests",
    "..",
    "../other",
    "/",
    "/srv",
    "/srv/data",
    "/srv/data/x",
    "~/notes",
    "~",
    "~/notes/x",
    "/ws/site/src",
    "link",
    "/home",
];
const NAMES: [&str; 7] =
    ["x.com", "*.x.com", "a.x.com", "*.a.x.com", "*.com", "b.a.x.com", "y.org"];

fn list(of: &'static [&'static str]) -> impl Strategy<Value = Option<Vec<String>>> {
    let some = subsequence(of, 0..=of.len().min(4));
    proptest::option::of(some.prop_map(|all| all.into_iter().map(str::to_owned).collect()))
}

fn sandbox() -> impl Strategy<Value = SandboxToml> {
    let denied = &["src", "/srv/data*", "~/mail", "link"];
    let security = (
        (list(&PATHS), list(&PATHS), list(denied), list(denied)),
        (list(&NAMES), list(&["127.0.0.1", "10.0.0.1"])),
        proptest::option::of(select(vec![ReadAccess::Strict, ReadAccess::Broad])),
    );
    let security = security.prop_map(|(paths, reach, read)| Security {
        read,
        allow_write: paths.0,
        allow_read: paths.1,
        deny_read: paths.2,
        deny_write: paths.3,
        allowed_domains: reach.0,
        allowed_addresses: reach.1,
    });
    let number = || proptest::option::of(1..10_000_000_000_u64);
    let limits = (number(), number(), number(), number(), number());
    let limits = limits.prop_map(|(timeout, memory, pids, disk, files)| SandboxLimits {
        timeout,
        memory,
        pids,
        disk,
        files,
        strict: None,
    });
    let profiles = [SandboxProfile::Untrusted, SandboxProfile::Trusted, SandboxProfile::Host];
    let words = (
        proptest::option::of(select(profiles.to_vec())),
        proptest::option::of(select(vec![GitAccess::Read, GitAccess::Write])),
        proptest::option::of(select(vec![SandboxLevel::Ns, SandboxLevel::Landlock])),
    );
    (security, limits, words).prop_map(|(security, limits, (profile, git, minimum))| SandboxToml {
        enabled: None,
        minimum,
        profile,
        git,
        env: None,
        security,
        home: Default::default(),
        limits,
    })
}

fn layer(speaker: SettingsAuthor, sandbox: SandboxToml) -> SandboxLayer {
    let mut layer = SandboxLayer::of(speaker);
    layer.sandbox = sandbox;
    layer
}

fn lies_in(path: &str, root: &str) -> bool {
    root == "/" || path == root || path.starts_with(&format!("{root}/"))
}

/// Each thing that a wider confinement allows, the narrower one allows too; written apart from the code.
fn assert_within(narrow: &Confinement, wide: &Confinement) {
    let each_in = |narrow: &[String], wide: &[String]| {
        narrow.iter().all(|path| wide.iter().any(|root| lies_in(path, root)))
    };
    assert!(each_in(&narrow.allow_write, &wide.allow_write), "{narrow:#?}\n{wide:#?}");
    assert!(each_in(&narrow.allow_read, &wide.allow_read), "{narrow:#?}\n{wide:#?}");
    assert!(
        wide.deny_read.iter().all(|path| narrow.deny_read.contains(path)),
        "{narrow:#?}\n{wide:#?}"
    );
    assert!(
        wide.deny_write.iter().all(|path| narrow.deny_write.contains(path)),
        "{narrow:#?}\n{wide:#?}"
    );
    assert!(wide.reading == ReadAccess::Broad || narrow.reading == ReadAccess::Strict);
    assert!(wide.git == GitAccess::Write || narrow.git == GitAccess::Read);
    assert!(narrow.home.is_none() || narrow.home == wide.home);
    assert_eq!(narrow.limits.lower_of_each(wide.limits), narrow.limits);
    let rank = |profile| match profile {
        ConfinementProfile::Untrusted => 0,
        ConfinementProfile::Trusted => 1,
        ConfinementProfile::Host => 2,
    };
    assert!(rank(narrow.profile) <= rank(wide.profile));
    if let NetworkAccess::Domains { allow, addresses } = &narrow.network {
        let NetworkAccess::Domains { allow: most, addresses: known } = &wide.network else {
            panic!("{narrow:#?}\n{wide:#?}");
        };
        assert!(addresses.iter().all(|one| known.contains(one)));
        // Every name that could be meant is tried.
        for name in ["x.com", "a.x.com", "b.x.com", "b.a.x.com", "c.b.a.x.com", "z.com", "y.org"] {
            let means = |pattern: &String| match pattern.strip_prefix("*") {
                Some(end) => name.ends_with(end),
                None => name == pattern,
            };
            assert!(
                !allow.iter().any(means) || most.iter().any(means),
                "{name}: {allow:?} {most:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn no_request_and_no_further_request_widens(
        operator in sandbox(),
        asked in proptest::collection::vec(sandbox(), 0..4),
        leads in select(vec!["/ws/site/src", "/srv/data", "/people/me", "/ws/site/link"]),
    ) {
        let place = ConfinementContext {
            real: BTreeMap::from([("/ws/site/link".to_owned(), leads.to_owned())]),
            ..place()
        };
        let operator = layer(SettingsAuthor::Operator, operator);
        let layers: Vec<SandboxLayer> = asked.into_iter().map(|one| layer(SettingsAuthor::Agent, one)).collect();
        let mut before: Option<Confinement> = None;
        for count in 0..=layers.len() {
            let requests: Vec<&SandboxLayer> = layers[..count].iter().collect();
            let Ok((now, _)) = resolve(ConfinementLevel::Ns, &operator, &requests, &place) else { break };
            if let Some(before) = &before {
                assert_within(&now, before);
            }
            assert!(now.allow_read.iter().all(|path| !path.starts_with("/people/me/.ssh")));
            before = Some(now);
        }
    }

    #[test]
    fn the_order_of_requests_makes_no_difference(a in sandbox(), b in sandbox()) {
        let operator = SandboxLayer::of(SettingsAuthor::Operator);
        let (a, b) = (layer(SettingsAuthor::Project, a), layer(SettingsAuthor::Agent, b));
        let one = resolve(ConfinementLevel::Ns, &operator, &[&a, &b], &place());
        let other = resolve(ConfinementLevel::Ns, &operator, &[&b, &a], &place());
        assert_eq!(one.map(|(holds, _)| holds), other.map(|(holds, _)| holds));
    }
}
