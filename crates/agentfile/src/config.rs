//! Settings in layers: user, project, environment, flags. Later layers win; every value knows its layer.
//!
//! The section `sandbox` is different: there the operator's word (user, environment, flags) is the ceiling,
//! and what a project or an agent says is a request within it. What may be spent they can only lower.
//!
//! A variable `AGENTRY_AGENT_MODEL` and a flag `-c agent.model=…` are each read as a small TOML text of
//! their own, so that they are checked and reported like a file.
//!
//! Must never: read the environment or a file itself.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::diagnostic::{DiagnosticCode, FindingText, Findings, suggestion};
use crate::manifest::config::{Config, ProviderToml};
use crate::node::{Kind, Node, pointer_part};
use crate::sandbox::{self, SandboxLayer, SettingsAuthor};
use crate::schema::{self, FileKind};
use crate::source::{Origin, SourceText, SourcedValue, Span};
use crate::toml;

pub mod channels;
mod environment;
pub(crate) mod layered_values;
mod spending;

use layered_values::LayeredValues;

/// The file.
pub const FILE: &str = "agentry.toml";

/// What the settings are made of, weakest first.
#[derive(Clone, Debug, Default)]
pub struct ConfigLayers {
    /// The user's `agentry.toml`.
    pub user: Option<SourceText>,
    /// The project's `agentry.toml`.
    pub project: Option<SourceText>,
    /// The `agentry.toml` of an agent that lies in the project.
    pub agent: Option<SourceText>,
    /// All environment variables whose names begin with `AGENTRY_`.
    pub environment: BTreeMap<String, String>,
    /// `key=value`, as given with `-c`.
    pub flags: Vec<String>,
}

/// The settings that hold.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// All values. The section `sandbox` is the operator's word alone.
    pub config: Config,
    // Every value that was said, with where it was said; of the sandbox only what the operator said.
    said: LayeredValues,
    // What everybody says about the sandbox.
    sandbox: sandbox::SandboxLayers,
    // What others than the operator say about spending.
    spending: Vec<spending::SpendingRequest>,
    // What they were made of, so that an agent's own can be put between.
    layers: ConfigLayers,
    // The providers as the operator alone defines them.
    own_providers: BTreeMap<String, ProviderToml>,
}

/// Whoever shares a file with others does not say who gets their secrets.
fn refuse_secrets(source: &SourceText, node: &mut Node, findings: &mut Findings) {
    if let Some(pair) = node.pair("secrets") {
        let text = FindingText::new("a project may not say who gets a secret")
            .help("say it in your own settings, ~/.config/agentry/agentry.toml");
        findings.at(DiagnosticCode::SharedSecrets, source, pair.key_span, text);
    }
    if let Kind::Map(pairs) = &mut node.kind {
        pairs.retain(|pair| pair.key != "secrets");
    }
}

/// The owner's clock is the owner's to name: by it policies say when somebody is let in.
fn refuse_timezone(source: &SourceText, node: &mut Node, findings: &mut Findings) {
    if let Some(pair) = node.pair("timezone") {
        let text =
            FindingText::new("a project does not say which time zone is yours; this has no effect")
                .help("say it in your own settings, ~/.config/agentry/agentry.toml");
        findings.at(DiagnosticCode::OperatorOnly, source, pair.key_span, text);
    }
    if let Kind::Map(pairs) = &mut node.kind {
        pairs.retain(|pair| pair.key != "timezone");
    }
}

/// Whoever shares a file with others does not say how often their guests may ask.
fn leave_out_requests(source: &SourceText, node: &mut Node, findings: &mut Findings) {
    if let Some(pair) = node.pair("requests") {
        let text = FindingText::new("only your own settings may say how often others may ask you")
            .help("say it in ~/.config/agentry/agentry.toml");
        findings.at(DiagnosticCode::OperatorOnly, source, pair.key_span, text);
    }
    if let Kind::Map(pairs) = &mut node.kind {
        pairs.retain(|pair| pair.key != "requests");
    }
}

/// Puts the layers on top of each other.
pub fn layered(layers: &ConfigLayers, findings: &mut Findings) -> Settings {
    let mut settings = Settings { layers: layers.clone(), ..Settings::default() };
    let files = [
        (SettingsAuthor::Operator, &layers.user),
        (SettingsAuthor::Project, &layers.project),
        (SettingsAuthor::Agent, &layers.agent),
    ];
    for (speaker, source) in files {
        source.iter().for_each(|source| settings.add(speaker, source, findings));
    }
    for source in environment::sources(&layers.environment, findings) {
        settings.add(SettingsAuthor::Operator, &source, findings);
    }
    for flag in &layers.flags {
        match flag.split_once('=') {
            Some((key, value)) => {
                let source = one_setting(&format!("flag -c {}", flag.trim()), key, value.trim());
                settings.add(SettingsAuthor::Operator, &source, findings);
            }
            None => {
                let source = SourceText::synthetic(format!("flag -c {flag}"), flag.as_str());
                let text = FindingText::new(format!("`{flag}` has no `=`"))
                    .help("write -c agent.model=some-model");
                findings.at(DiagnosticCode::SettingForm, &source, Span::new(0, flag.len()), text);
            }
        }
    }
    settings.finish(findings);
    settings.own_providers = match (&layers.project, &layers.agent) {
        (None, None) => settings.config.providers.clone(),
        (Some(_), _) | (_, Some(_)) => {
            let own = ConfigLayers { project: None, agent: None, ..layers.clone() };
            layered(&own, &mut Findings::default()).own_providers
        }
    };
    settings
}

/// One setting as a TOML text. A value that is not TOML is taken as text.
fn one_setting(name: &str, key: &str, value: &str) -> SourceText {
    let value = match toml::parse_value(value) {
        Value::String(text) => Value::String(text).to_string(),
        _ => value.to_owned(),
    };
    SourceText::synthetic(name, format!("{} = {value}", key.trim()))
}

impl Settings {
    /// The settings that hold for an agent with a file of its own. What is wrong with that file goes to
    /// the findings.
    pub fn for_agent(&self, own: &SourceText, findings: &mut Findings) -> Self {
        let mut alone = Self::default();
        alone.add(SettingsAuthor::Agent, own, findings);
        for request in &mut alone.sandbox.requests {
            request.check_form(findings);
            request.drop_wider_than(&self.sandbox.operator.sandbox, findings);
        }
        spending::apply_requests(&alone.spending, &mut self.said.clone(), findings);
        let layers = ConfigLayers { agent: Some(own.clone()), ..self.layers.clone() };
        layered(&layers, &mut Findings::default())
    }

    /// What a project or an agent says about the sandbox is kept apart: it only asks.
    fn add(&mut self, speaker: SettingsAuthor, source: &SourceText, findings: &mut Findings) {
        let Some(mut node) = toml::parse(source, findings) else { return };
        if speaker != SettingsAuthor::Operator {
            refuse_secrets(source, &mut node, findings);
            refuse_timezone(source, &mut node, findings);
            channels::refuse(source, &mut node, findings);
            leave_out_requests(source, &mut node, findings);
        }
        schema::check(FileKind::Config, source, &mut node, findings);
        match speaker {
            SettingsAuthor::Operator => self.sandbox.operator.add(source, &node),
            SettingsAuthor::Project | SettingsAuthor::Agent => {
                let mut request = SandboxLayer::of(speaker);
                request.add(source, &node);
                self.sandbox.requests.push(request);
                self.spending.extend(spending::take_request(speaker, source, &mut node));
                if let Kind::Map(pairs) = &mut node.kind {
                    pairs.retain(|pair| pair.key != "sandbox");
                }
            }
        }
        self.said.insert_tree(source, &node, "");
    }

    fn finish(&mut self, findings: &mut Findings) {
        spending::apply_requests(&self.spending, &mut self.said, findings);
        // The layers were checked one by one; together they can still not fit only if we are wrong.
        match self.said.deserialize::<Config>() {
            Ok(config) => self.config = config,
            Err(error) => findings.about(DiagnosticCode::WrongType, FILE, error.to_string()),
        }
        self.sandbox.operator.check_form(findings);
        self.config.sandbox = self.sandbox.operator.sandbox.clone();
        for request in &mut self.sandbox.requests {
            request.check_form(findings);
            request.drop_wider_than(&self.config.sandbox, findings);
        }
        self.sandbox.requests.retain(|request| !request.is_silent());
        channels::check(self, findings);
        for (id, provider) in &self.config.providers {
            if provider.model_allowlist.is_empty() {
                let text = FindingText::new(format!(
                    "the provider `{id}` lists no models, so it serves none"
                ))
                .help("set `model_allowlist`");
                let pointer = format!("/providers/{}", pointer_part(id));
                self.report(DiagnosticCode::EmptyAllowlist, &pointer, text, findings);
            }
        }
    }

    /// Where a value was said; `built-in` if nowhere.
    pub fn origin(&self, pointer: &str) -> Origin {
        self.said.origin(pointer)
    }

    /// The providers as the operator alone defines them. What a project adds or changes is in `config` only.
    pub fn own_providers(&self) -> &BTreeMap<String, ProviderToml> {
        &self.own_providers
    }

    /// Whether a value was said by a project or an agent, which others may have written.
    pub fn is_shared(&self, pointer: &str) -> bool {
        let said = self.origin(pointer).file;
        let shared = [&self.layers.project, &self.layers.agent];
        shared.into_iter().flatten().any(|source| source.file == said)
    }

    /// Notes a finding at a value.
    pub fn report(
        &self,
        code: DiagnosticCode,
        pointer: &str,
        text: FindingText,
        findings: &mut Findings,
    ) {
        self.said.report(code, (pointer, FILE), text, findings);
    }

    /// What everybody says about the sandbox: the operator's ceiling, and what is asked for within it.
    pub fn sandbox(&self) -> &sandbox::SandboxLayers {
        &self.sandbox
    }

    /// All values that were said: dotted key, value, origin. What is asked for of the sandbox stands beside
    /// what the operator says.
    pub fn all(&self) -> Vec<(String, &Value, Origin)> {
        let mut all = self.said.all();
        for request in &self.sandbox.requests {
            for (key, value, origin) in request.all() {
                let pointer = format!("/{}", key.replace('.', "/"));
                let taken = self.sandbox.operator.has(&pointer);
                let asked = if taken { " (asked)" } else { "" };
                all.push((format!("sandbox.{key}{asked}"), value, origin));
            }
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    fn text(&self, pointer: &str, value: Option<&String>) -> Option<SourcedValue<String>> {
        value.map(|value| SourcedValue::new(value.clone(), self.origin(pointer)))
    }

    /// The model for agents whose own cannot be had.
    pub fn default_model(&self) -> Option<SourcedValue<String>> {
        self.text("/agent/model", self.config.agent.model.as_ref())
    }

    /// The user's name.
    pub fn user_name(&self) -> Option<SourcedValue<String>> {
        self.text("/user/name", self.config.user.name.as_ref())
    }

    /// The name of the agent that the project describes.
    pub fn agent_name(&self) -> Option<SourcedValue<String>> {
        self.text("/agent/name", self.config.agent.name.as_ref())
    }

    /// Values for the template.
    pub fn args(&self) -> BTreeMap<String, SourcedValue<Value>> {
        let args = self.config.agent.args.iter();
        args.map(|(key, value)| {
            let origin = self.origin(&format!("/agent/args/{}", pointer_part(key)));
            (key.clone(), SourcedValue::new(value.clone(), origin))
        })
        .collect()
    }
}

/// Notes a finding for a variable that has no meaning.
fn report_unknown_variable(name: &str, known: &[&str], findings: &mut Findings) {
    let text =
        FindingText::new(format!("{name} is set but has no meaning")).help(suggestion(name, known));
    findings.about(DiagnosticCode::UnknownEnvironment, format!("environment {name}"), text);
}
