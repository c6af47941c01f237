//! Layered settings: user, project, environment, flags. Later layers win; values keep their layer.
//!
//! The section `sandbox` is different: there the operator's settings (user, environment, flags) are
//! the ceiling, and a project or an agent only requests. Spending limits they can only lower.
//!
//! A variable `AGENTRY_AGENT_MODEL` and a flag `-c agent.model=…` are each read as a small TOML
//! text, so that they are checked and reported like a file.
//!
//! Must never: read the environment or a file itself.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::diagnostic::{DiagnosticCode, FindingText, Findings, suggestion};
use crate::layered_values::{LayeredValues, ValuePlace};
use crate::manifest::config::{Config, ProviderToml};
use crate::node::{Kind, Node, pointer_part};
use crate::sandbox::{self, SandboxLayer, SettingsAuthor};
use crate::schema::{self, FileKind};
use crate::source::{Origin, SourceText, SourcedValue, Span};
use crate::toml;

pub mod channels;
mod environment;
mod spending;

/// The name of the file.
pub const FILE: &str = "agentry.toml";

/// The sources of the settings, weakest first.
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

/// The merged settings.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// All values. The section `sandbox` holds only the operator's settings.
    pub config: Config,
    // Every given value with its origin; of the sandbox only the operator's values.
    said: LayeredValues,
    // The sandbox settings of all authors.
    sandbox: sandbox::SandboxLayers,
    // The spending limits of a project and its agents.
    spending: Vec<spending::SpendingRequest>,
    // The sources, so that an agent's own file can be inserted.
    layers: ConfigLayers,
    // The providers that the operator defines.
    own_providers: BTreeMap<String, ProviderToml>,
}

/// Removes `secrets` from a shared file, whose authors must not choose the receivers of secrets.
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

/// Removes the time zone from a shared file: access policies grant access by the owner's clock.
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

/// Removes `requests` from a shared file, whose authors must not set the limits of requests.
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

/// Merges the layers.
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

/// Turns one setting into a TOML text. A value that is not TOML becomes a text.
fn one_setting(name: &str, key: &str, value: &str) -> SourceText {
    let value = match toml::parse_value(value) {
        Value::String(text) => Value::String(text).to_string(),
        _ => value.to_owned(),
    };
    SourceText::synthetic(name, format!("{} = {value}", key.trim()))
}

impl Settings {
    /// Returns the settings for an agent with a file of its own. Defects of that file go to the
    /// findings.
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

    /// Adds one file. Sandbox settings of a project or an agent are kept apart, as requests.
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
        // The layers were checked one by one; only a defect of ours can make them invalid together.
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

    /// Returns the origin of a value; `built-in` if it was not given.
    pub fn origin(&self, pointer: &str) -> Origin {
        self.said.origin(pointer)
    }

    /// Returns the providers that the operator defines. Changes by a project are in `config` only.
    pub fn own_providers(&self) -> &BTreeMap<String, ProviderToml> {
        &self.own_providers
    }

    /// True if a project or an agent gave a value; others may have written those files.
    pub fn is_shared(&self, pointer: &str) -> bool {
        let said = self.origin(pointer).file;
        let shared = [&self.layers.project, &self.layers.agent];
        shared.into_iter().flatten().any(|source| source.file == said)
    }

    /// Adds a finding at a value.
    pub fn report(
        &self,
        code: DiagnosticCode,
        pointer: &str,
        text: FindingText,
        findings: &mut Findings,
    ) {
        self.said.report(code, ValuePlace { pointer, file: FILE }, text, findings);
    }

    /// Returns the sandbox settings of all authors: the operator's ceiling, and the requests.
    pub fn sandbox(&self) -> &sandbox::SandboxLayers {
        &self.sandbox
    }

    /// Returns all given values: dotted key, value, origin. The sandbox requests follow the
    /// operator's values.
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

    /// Returns the model for agents whose own is not available.
    pub fn default_model(&self) -> Option<SourcedValue<String>> {
        self.text("/agent/model", self.config.agent.model.as_ref())
    }

    /// Returns the user's name.
    pub fn user_name(&self) -> Option<SourcedValue<String>> {
        self.text("/user/name", self.config.user.name.as_ref())
    }

    /// Returns the name of the agent that the project describes.
    pub fn agent_name(&self) -> Option<SourcedValue<String>> {
        self.text("/agent/name", self.config.agent.name.as_ref())
    }

    /// Returns the values for the template.
    pub fn args(&self) -> BTreeMap<String, SourcedValue<Value>> {
        let args = self.config.agent.args.iter();
        args.map(|(key, value)| {
            let origin = self.origin(&format!("/agent/args/{}", pointer_part(key)));
            (key.clone(), SourcedValue::new(value.clone(), origin))
        })
        .collect()
    }
}

/// Adds a finding for a variable without a meaning.
fn report_unknown_variable(name: &str, known: &[&str], findings: &mut Findings) {
    let text =
        FindingText::new(format!("{name} is set but has no meaning")).help(suggestion(name, known));
    findings.about(DiagnosticCode::UnknownEnvironment, format!("environment {name}"), text);
}
