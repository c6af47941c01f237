//! Who shares a home that persists: over any runs, only those with the same project, agent, sender and credentials.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentry_agentfile::config::{self, ConfigLayers};
use agentry_agentfile::diagnostic::{DiagnosticCode, Findings};
use agentry_agentfile::sandbox::SandboxLayer;
use agentry_agentfile::source::SourceText;
use agentry_kernel::confinement::{ConfinementContext, resolve};
use agentry_protocol::access::{
    AttributedDisclosureLevel, AttributedName, Bounds, Credentials, DisclosureLevel, NameList,
    PermissionSource, ToolBounds,
};
use agentry_protocol::confinement::{Confinement, ConfinementLevel};
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_protocol::{AccessId, AgentId};
use proptest::prelude::*;
use proptest::sample::select;

const STATE: &str = "/people/me/.local/state/agentry";
const PERSISTS: &str = "[sandbox.home]\npersist = \"project\"\n";

/// One run: where, who acts, for whom, and what the settings say.
#[derive(Clone, Debug)]
struct Run {
    project: &'static str,
    workspace: &'static str,
    agent: &'static str,
    sender: Option<Bounds>,
    credentials: Vec<String>,
    operator: &'static str,
    request: &'static str,
}

impl Run {
    fn confinement(&self) -> Confinement {
        let layers = ConfigLayers {
            user: Some(SourceText::new("/people/me/agentry.toml", self.operator)),
            project: Some(SourceText::new("agentry.toml", self.request)),
            ..ConfigLayers::default()
        };
        let settings = config::layered(&layers, &mut Findings::default());
        let all = settings.sandbox().clone();
        let requests: Vec<&SandboxLayer> = all.requests.iter().collect();
        let place = ConfinementContext {
            workspace: self.workspace.to_owned(),
            project: self.project.to_owned(),
            state: Some(STATE.to_owned()),
            agent: Some(AgentId::new(self.agent)),
            sender: self.sender.clone(),
            credentials: self.credentials.clone(),
            ..ConfinementContext::default()
        };
        resolve(ConfinementLevel::Ns, &all.operator, &requests, &place).expect("it can be held").0
    }

    /// What must be the same for two runs to share anything: said apart from the code that decides it.
    fn authority(&self) -> String {
        let sender = self.sender.as_ref().map(|one| {
            format!("{:?} {:?} {:?} {:?}", one.principal, one.credentials, one.tools, one.exec)
        });
        let Self { project, workspace, agent, credentials, .. } = self;
        format!("{project}|{workspace}|{agent}|{sender:?}|{credentials:?}")
    }
}

fn bounds(principal: Principal, credentials: Credentials, tools: &[&str]) -> Bounds {
    let names = tools.iter().map(|name| Arc::from(*name)).collect();
    let allow = vec![Arc::new(NameList { from: PermissionSource::Default, names })];
    Bounds {
        access: AccessId::from_number(1),
        principal,
        channel: "telegram".to_owned(),
        tools: ToolBounds { allow, ..ToolBounds::default() },
        credentials,
        data: AttributedDisclosureLevel {
            level: DisclosureLevel::None,
            from: PermissionSource::Default,
        },
        exec: Vec::new(),
        requests: None,
    }
}

fn person(kind: PrincipalKind, entity: Option<&str>) -> Principal {
    Principal { entity_id: entity.map(str::to_owned), ..Principal::of(kind) }
}

/// Returns whether two senders with this principal are the same sender; said apart from the code that decides it.
fn names_one_sender(principal: &Principal) -> bool {
    let has_name = [&principal.entity_id, &principal.source, &principal.agent_id]
        .iter()
        .any(|id| id.is_some());
    has_name || [PrincipalKind::Owner, PrincipalKind::System].contains(&principal.kind)
}

fn senders() -> impl Strategy<Value = Option<Bounds>> {
    let people = vec![
        person(PrincipalKind::Owner, None),
        person(PrincipalKind::Known, Some("casey")),
        person(PrincipalKind::Known, Some("robin")),
        person(PrincipalKind::Known, None),
        person(PrincipalKind::Unknown, None),
        Principal { source: Some("github".to_owned()), ..Principal::of(PrincipalKind::Webhook) },
        Principal::of(PrincipalKind::Webhook),
        Principal { agent_id: Some("scout".to_owned()), ..Principal::of(PrincipalKind::Agent) },
        Principal::of(PrincipalKind::Agent),
        Principal::of(PrincipalKind::System),
    ];
    let credentials = vec![
        Credentials::All(PermissionSource::Default),
        Credentials::Named(Vec::new()),
        Credentials::Named(vec![AttributedName {
            name: "github".into(),
            from: PermissionSource::Default,
        }]),
    ];
    let tools = vec![vec!["bash"], vec!["bash", "read_file"]];
    let one = (select(people), select(credentials), select(tools))
        .prop_map(|(principal, credentials, tools)| bounds(principal, credentials, &tools));
    prop::option::of(one)
}

fn runs() -> impl Strategy<Value = Run> {
    let place = (
        select(vec!["/ws/mine", "/ws/evil"]),
        select(vec!["/ws/mine", "/ws/other"]),
        select(vec!["coder", "docs/../coder", "..", ""]),
    );
    let credentials = prop::sample::subsequence(
        vec!["GH=github>tool:bash".to_owned(), "variable EDITOR".to_owned()],
        0..=2,
    );
    let settings = (
        select(vec![
            "",
            PERSISTS,
            "[sandbox]\nprofile = \"untrusted\"\n[sandbox.home]\npersist = \"project\"\n",
        ]),
        select(vec!["", PERSISTS, "[sandbox.home]\npersist = \"none\"\n"]),
    );
    (place, senders(), credentials, settings).prop_map(
        |((project, workspace, agent), sender, credentials, (operator, request))| Run {
            project,
            workspace,
            agent,
            sender,
            credentials,
            operator,
            request,
        },
    )
}

proptest! {
    #[test]
    fn no_home_that_persists_is_shared_between_two_authorities(
        runs in prop::collection::vec(runs(), 1..40),
    ) {
        let mut homes: BTreeMap<String, String> = BTreeMap::new();
        let mut digests: BTreeMap<String, String> = BTreeMap::new();
        for run in runs {
            let (confinement, authority) = (run.confinement(), run.authority());
            let digest = confinement.authority.clone().expect("every process has an authority");
            let known = digests.entry(digest.to_string()).or_insert_with(|| authority.clone());
            prop_assert_eq!(&*known, &authority, "a sandbox is shared");
            let Some(home) = confinement.home else { continue };
            prop_assert!(run.operator == PERSISTS, "only the operator keeps a home");
            prop_assert!(!run.request.contains("none"), "whoever wants less gets less");
            let principal = run.sender.as_ref().map(|bounds| &bounds.principal);
            prop_assert!(principal.is_none_or(names_one_sender), "strangers share a home");
            let below = home.strip_prefix(&format!("{STATE}/persistent-homes/"));
            prop_assert!(below.is_some_and(|name| name.len() == 64 && !name.contains('/')));
            let known = homes.entry(home).or_insert_with(|| authority.clone());
            prop_assert_eq!(&*known, &authority, "a home is shared");
        }
    }
}

#[test]
fn one_authority_keeps_its_home_from_run_to_run() {
    let run = Run {
        project: "/ws/mine",
        workspace: "/ws/mine",
        agent: "coder",
        sender: Some(bounds(
            person(PrincipalKind::Known, Some("casey")),
            Credentials::Named(Vec::new()),
            &["bash"],
        )),
        credentials: Vec::new(),
        operator: PERSISTS,
        request: "",
    };
    let mut later = run.clone();
    let bounds = later.sender.as_mut().unwrap();
    bounds.access = AccessId::from_number(2);
    bounds.channel = "slack".to_owned();
    assert_eq!(later.confinement(), run.confinement());
    assert!(run.confinement().home.is_some());
    let nothing_said = Run { operator: "", ..run };
    assert_eq!(nothing_said.confinement().home, None);
}

#[test]
fn the_owner_and_every_sender_with_an_id_may_keep_a_home() {
    let named = |kind, change: fn(&mut Principal)| {
        let mut principal = Principal::of(kind);
        change(&mut principal);
        Some(principal)
    };
    let keeps = [
        None,
        named(PrincipalKind::Owner, |_| {}),
        named(PrincipalKind::Known, |one| one.entity_id = Some("casey".to_owned())),
        named(PrincipalKind::Webhook, |one| one.source = Some("github".to_owned())),
        named(PrincipalKind::Agent, |one| one.agent_id = Some("scout".to_owned())),
    ];
    for principal in keeps {
        let sender = principal.map(|one| bounds(one, Credentials::Named(Vec::new()), &["bash"]));
        let run = Run {
            project: "/ws/mine",
            workspace: "/ws/mine",
            agent: "coder",
            sender,
            credentials: Vec::new(),
            operator: PERSISTS,
            request: "",
        };
        assert!(run.confinement().home.is_some(), "{run:?}");
    }
}

#[test]
fn a_project_cannot_make_a_home_persist() {
    let layers = ConfigLayers {
        project: Some(SourceText::new("agentry.toml", PERSISTS)),
        ..ConfigLayers::default()
    };
    let mut findings = Findings::default();
    let settings = config::layered(&layers, &mut findings);
    let codes: Vec<DiagnosticCode> = findings.sorted().iter().map(|one| one.code).collect();
    assert_eq!(codes, [DiagnosticCode::OperatorOnly]);
    let mut requests = settings.sandbox().requests.iter();
    assert!(requests.all(|layer| layer.sandbox.home.persist.is_none()));
}
