//! Reads a file of policies into resolved policies.
//!
//! Must never: widen a policy by leaving out a defective part; the caller drops a file with errors.

use std::sync::Arc;

use agentry_protocol::access::{Delivery, DisclosureLevel, Effect};
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_protocol::tool::ToolName;

use super::{
    KeyTemplate, LocalTime, ModifierRule, NameSet, PRIORITY_DEFAULT, Permissions, Policy,
    PolicyCondition, PolicyExample, PolicyToolRule, PrincipalCondition, SessionRule, TimeWindow,
};
use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::json;
use crate::manifest::access::{
    ConditionYml, ExamplePrincipalYml, ExampleYml, MatchYml, NamesYml, PoliciesYml, PolicyYml,
    PrincipalYml, SessionYml, ToolsYml,
};
use crate::node::{Kind, MapEntry, Node};
use crate::schema::{self, FileKind, ManifestFile};
use crate::source::{SourceText, Span};
use crate::yaml;

/// Reads a file. If it has errors, some policies may be missing or wider than written.
pub fn parse(source: &SourceText, findings: &mut Findings) -> Vec<Policy> {
    let node = if source.file.ends_with(".json") {
        json::parse(source, findings)
    } else {
        yaml::parse(source, Span::new(0, source.text.len()), findings)
    };
    let Some(node) = node else { return Vec::new() };
    if node.kind == Kind::Null {
        let text =
            FindingText::new("the file holds no policy").help("write one, or remove the file");
        findings.at(DiagnosticCode::EmptyFile, source, node.span, text);
        return Vec::new();
    }
    let Some(node) = as_list_under_name(node, source, findings) else { return Vec::new() };
    let doc = schema::read::<PoliciesYml>(FileKind::Policies, source, node, findings);
    let Some(doc) = doc else { return Vec::new() };
    let policies = doc.manifest.policies.iter().enumerate();
    policies.map(|(at, policy)| PolicyReader { doc: &doc, at, findings }.policy(policy)).collect()
}

/// Converts one policy or a plain list into the form with `policies`.
fn as_list_under_name(node: Node, source: &SourceText, findings: &mut Findings) -> Option<Node> {
    let span = node.span;
    let list = match node.kind {
        Kind::Map(_) if node.pair("policies").is_some() => return Some(node),
        Kind::Map(_) => Node { span, kind: Kind::List(vec![node]) },
        Kind::List(_) => node,
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {
            let text = format!("expected a policy or a list of policies, found {}", node.noun());
            findings.at(DiagnosticCode::NotAMapping, source, span, text);
            return None;
        }
    };
    let start = Span::new(span.start, span.start);
    let pair = MapEntry { key: "policies".to_owned(), key_span: start, value: list };
    Some(Node { span, kind: Kind::Map(vec![pair]) })
}

struct PolicyReader<'a> {
    doc: &'a ManifestFile<PoliciesYml>,
    at: usize,
    findings: &'a mut Findings,
}

impl PolicyReader<'_> {
    fn pointer(&self, field: &str) -> String {
        format!("/policies/{}{field}", self.at)
    }

    /// True if a defect at or below a field was reported already.
    fn lost(&self, field: &str) -> bool {
        self.doc.lost(&self.pointer(field))
    }

    fn report(&mut self, code: DiagnosticCode, field: &str, text: FindingText) {
        let span = self.doc.span(&self.pointer(field));
        self.findings.at(code, &self.doc.source, span, text);
    }

    fn policy(&mut self, yml: &PolicyYml) -> Policy {
        let matching = yml.matching.clone().unwrap_or_default();
        let permissions = self.permissions(yml);
        let session = yml.session.as_ref().and_then(|session| self.session(session, yml));
        let policy = Policy {
            name: self.doc.sourced(&self.pointer("/name"), yml.name.as_str().into()),
            description: yml.description.clone(),
            enabled: yml.enabled.unwrap_or(true),
            priority: yml.priority.unwrap_or(PRIORITY_DEFAULT),
            effect: yml.effect,
            who: who(matching.principal.clone().unwrap_or_default()),
            conditions: self.conditions(&matching),
            permissions,
            session,
            modifiers: self.modifiers(yml),
            examples: self.examples(yml),
        };
        self.check_whole(yml, &policy);
        policy
    }

    /// Reports defects in the combination of fields.
    fn check_whole(&mut self, yml: &PolicyYml, policy: &Policy) {
        let name = &yml.name;
        let given = [
            ("permissions", yml.permissions.is_some()),
            ("session", yml.session.is_some()),
            ("modifiers", yml.modifiers.is_some()),
            ("ceiling", yml.ceiling == Some(true)),
            ("isolate", yml.isolate == Some(true)),
        ];
        let denies = policy.effect == Effect::Deny;
        for (field, _) in given.into_iter().filter(|(_, given)| *given && denies) {
            let text =
                FindingText::new(format!("`{name}` denies, so its `{field}` can have no effect"))
                    .help(format!("remove `{field}`, or write `effect: allow`"));
            self.report(DiagnosticCode::DenyWithPowers, &format!("/{field}"), text);
        }
        if denies {
            return;
        }
        if yml.ceiling == Some(true) && policy.permissions.is_empty() && !self.lost("/permissions")
        {
            let text =
                FindingText::new(format!("`{name}` is a ceiling, but says nothing to bound"))
                    .help("add `permissions`, or remove `ceiling`");
            self.report(DiagnosticCode::FlagWithoutGround, "/ceiling", text);
        }
        if yml.isolate == Some(true) && yml.session.is_none() && !self.lost("/session") {
            let text =
                FindingText::new(format!("`{name}` isolates, but has no session to isolate in"))
                    .help("add `session` with a `key`, or remove `isolate`");
            self.report(DiagnosticCode::FlagWithoutGround, "/isolate", text);
        }
        if policy.only_modifies() && yml.session.is_none() && !self.lost("") {
            let text = FindingText::new(format!("`{name}` only modifies, so it admits no sender"))
                .help("others must allow; add `permissions` if this policy should too");
            self.report(DiagnosticCode::OnlyModifies, "/modifiers", text);
        }
    }

    fn conditions(&mut self, matching: &MatchYml) -> Vec<PolicyCondition> {
        let conditions = matching.conditions.as_deref().unwrap_or_default();
        let all = conditions.iter().enumerate();
        all.map(|(at, condition)| self.condition(at, condition)).collect()
    }

    fn condition(&mut self, at: usize, yml: &ConditionYml) -> PolicyCondition {
        let field = format!("/match/conditions/{at}");
        if *yml == ConditionYml::default() && !self.lost(&field) {
            let text = FindingText::new("this condition says nothing, so it always holds")
                .help("remove all conditions if the policy should always hold");
            self.report(DiagnosticCode::EmptyCondition, &field, text);
        }
        let time = yml.time.as_deref().and_then(|text| {
            let window = TimeWindow::parse(text);
            if window.is_none() {
                let text = FindingText::new(format!("`{text}` is not a time"))
                    .help("write `23:00-08:00`, `weekends` or `weekdays`");
                self.report(DiagnosticCode::AccessTime, &format!("{field}/time"), text);
            }
            window
        });
        PolicyCondition {
            channel: yml.channel.clone(),
            peer_kind: yml.peer_kind,
            account: yml.account.clone(),
            guild: yml.guild.clone(),
            time,
            hook_id: yml.hook_id.clone(),
            event_type: yml.event_type.clone(),
        }
    }

    fn permissions(&mut self, yml: &PolicyYml) -> Permissions {
        let ceiling = yml.ceiling == Some(true);
        let Some(written) = &yml.permissions else {
            return Permissions { ceiling, ..Permissions::default() };
        };
        let data = written.data.as_deref().and_then(|word| self.data(word));
        Permissions {
            tools: written.tools.as_ref().map(tools),
            credentials: written.credentials.as_ref().map(credentials),
            data,
            ceiling,
        }
    }

    fn data(&mut self, word: &str) -> Option<DisclosureLevel> {
        let level = word.parse().ok();
        if level.is_none() {
            let text = FindingText::new(format!("`{word}` is not a data level"));
            let text = match word {
                "work" => text.help(
                    "write how much: none, minimal, contextual or full; say whom it concerns with `tags`",
                ),
                _ => text.help("write none, minimal, contextual or full"),
            };
            self.report(DiagnosticCode::AccessOpenness, "/permissions/data", text);
        }
        level
    }

    fn session(&mut self, session: &SessionYml, yml: &PolicyYml) -> Option<SessionRule> {
        match KeyTemplate::parse(&session.key) {
            Ok(key) => Some(SessionRule {
                persona: session.persona.as_deref().map(Arc::from),
                key,
                isolate: yml.isolate == Some(true),
            }),
            Err((why, help)) => {
                self.report(
                    DiagnosticCode::SessionKeyForm,
                    "/session/key",
                    FindingText::new(why).help(help),
                );
                None
            }
        }
    }

    fn modifiers(&mut self, yml: &PolicyYml) -> ModifierRule {
        let Some(written) = &yml.modifiers else { return ModifierRule::default() };
        let delivery = written.queue_mode.as_deref().and_then(|word| {
            let delivery = word.parse::<Delivery>();
            if let Err(unknown) = &delivery {
                let text = FindingText::new(unknown.to_string())
                    .help("write steer, followup, collect or interrupt");
                self.report(DiagnosticCode::NotOneOf, "/modifiers/queue_mode", text);
            }
            delivery.ok()
        });
        ModifierRule { delivery, delay_response: written.delay_response }
    }

    fn examples(&mut self, yml: &PolicyYml) -> Vec<crate::source::SourcedValue<PolicyExample>> {
        let written = yml.examples.as_deref().unwrap_or_default();
        let mut examples = Vec::with_capacity(written.len());
        for (at, one) in written.iter().enumerate() {
            let field = format!("/examples/{at}");
            let time = one.at.as_deref().unwrap_or("mon 12:00");
            let Some(time) = LocalTime::parse(time) else {
                let text = FindingText::new(format!("`{time}` is not a moment"))
                    .help("write `23:30`, or a day before it as in `sat 23:30`");
                self.report(DiagnosticCode::AccessTime, &format!("{field}/at"), text);
                continue;
            };
            examples.push(self.doc.sourced(&self.pointer(&field), example(one, time)));
        }
        examples
    }
}

fn who(yml: PrincipalYml) -> PrincipalCondition {
    PrincipalCondition {
        is_user: yml.is_user,
        relationship: yml.relationship,
        tags: yml.tags.unwrap_or_default(),
        person_id: yml.person_id,
        unknown: yml.unknown,
        system: yml.system,
        webhook: yml.webhook,
        agent: yml.agent,
    }
}

fn tools(yml: &ToolsYml) -> PolicyToolRule {
    let (allow, deny) = match yml {
        ToolsYml::Names(names) => (Some(names), None),
        ToolsYml::Both(both) => (both.allow.as_ref(), both.deny.as_ref()),
    };
    let allow = allow.map(tool_names);
    let mut deny = deny.map(tool_names).unwrap_or_default();
    let all = deny.len();
    deny.retain(|name| !is_all(name));
    PolicyToolRule { allow, deny_the_rest: deny.len() < all, deny }
}

/// Replaces the tool names of other programs by ours; patterns stay.
fn tool_names(yml: &NamesYml) -> Vec<Arc<str>> {
    match yml {
        NamesYml::Word(_) => vec!["*".into()],
        NamesYml::List(names) => {
            names.iter().map(|name| ToolName::canonical(name).as_str().into()).collect()
        }
    }
}

fn credentials(yml: &NamesYml) -> NameSet {
    match yml {
        NamesYml::Word(_) => NameSet::All,
        NamesYml::List(names) if names.iter().any(|name| is_all(name)) => NameSet::All,
        NamesYml::List(names) => {
            NameSet::Listed(names.iter().map(|name| name.as_str().into()).collect())
        }
    }
}

fn is_all(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte == b'*')
}

fn example(yml: &ExampleYml, at: LocalTime) -> PolicyExample {
    let principal = match &yml.principal {
        ExamplePrincipalYml::Kind(kind) => Principal::of(*kind),
        ExamplePrincipalYml::Known(person) => Principal {
            entity_id: person.person_id.clone(),
            name: person.name.clone(),
            relationship: person.relationship.clone(),
            tags: person.tags.clone().unwrap_or_default(),
            source: person.webhook.clone(),
            agent_id: person.agent.clone(),
            ..Principal::of(person.kind.unwrap_or(match (&person.webhook, &person.agent) {
                (Some(_), _) => PrincipalKind::Webhook,
                (None, Some(_)) => PrincipalKind::Agent,
                (None, None) => PrincipalKind::Known,
            }))
        },
    };
    PolicyExample {
        principal,
        place: PolicyCondition {
            channel: Some(yml.channel.clone().unwrap_or_else(|| "terminal".to_owned())),
            peer_kind: yml.peer_kind,
            account: yml.account.clone(),
            guild: yml.guild.clone(),
            time: None,
            hook_id: yml.hook_id.clone(),
            event_type: yml.event_type.clone(),
        },
        peer_id: yml.peer_id.clone(),
        at,
        expect: yml.expect,
        tools: yml.tools.clone().unwrap_or_default(),
        no_tools: yml.no_tools.clone().unwrap_or_default(),
        session: yml.session.clone(),
    }
}
