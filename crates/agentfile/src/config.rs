//! Settings in layers: user, project, environment, flags. Later layers win; every value knows its layer.
//!
//! A variable `AGENTRY_AGENT_MODEL` and a flag `-c agent.model=…` are each read as a small TOML text of
//! their own, so that they are checked and reported like a file.
//!
//! Must never: read the environment or a file itself.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::diagnostic::{Code, Findings, Text, suggestion};
use crate::manifest::config::Config;
use crate::node::{Kind, Node, plain_part, pointer_part};
use crate::schema::{self, FileKind};
use crate::source::{Origin, Source, Sourced, Span};
use crate::toml;

mod environment;

/// The file.
pub const FILE: &str = "agentry.toml";

/// What the settings are made of, weakest first.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The user's `agentry.toml`.
    pub user: Option<Source>,
    /// The project's `agentry.toml`.
    pub project: Option<Source>,
    /// The `agentry.toml` of an agent that lies in the project.
    pub agent: Option<Source>,
    /// All environment variables whose names begin with `AGENTRY_`.
    pub environment: BTreeMap<String, String>,
    /// `key=value`, as given with `-c`.
    pub flags: Vec<String>,
}

/// The settings that hold.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// All values.
    pub config: Config,
    // Every value that was said, by JSON pointer, with where it was said.
    said: BTreeMap<String, Said>,
    // What they were made of, so that an agent's own can be put between.
    layers: Layers,
}

#[derive(Clone, Debug)]
struct Said {
    value: Value,
    source: Source,
    node: Node,
}

/// Puts the layers on top of each other.
pub fn layered(layers: &Layers, findings: &mut Findings) -> Settings {
    let mut settings = Settings { layers: layers.clone(), ..Settings::default() };
    if let Some(source) = &layers.user {
        settings.add(source, findings);
    }
    for source in layers.project.iter().chain(&layers.agent) {
        settings.add_shared(source, findings);
    }
    for source in environment::sources(&layers.environment, findings) {
        settings.add(&source, findings);
    }
    for flag in &layers.flags {
        match flag.split_once('=') {
            Some((key, value)) => {
                let source = one_setting(&format!("flag -c {}", flag.trim()), key, value.trim());
                settings.add(&source, findings);
            }
            None => {
                let source = Source::made(format!("flag -c {flag}"), flag.as_str());
                let text = Text::new(format!("`{flag}` has no `=`"))
                    .help("write -c agent.model=some-model");
                findings.at(Code::SettingForm, &source, Span::new(0, flag.len()), text);
            }
        }
    }
    settings.finish(findings);
    settings
}

/// One setting as a TOML text. A value that is not TOML is taken as text.
fn one_setting(name: &str, key: &str, value: &str) -> Source {
    let value = match toml::parse_value(value) {
        Value::String(text) => Value::String(text).to_string(),
        _ => value.to_owned(),
    };
    Source::made(name, format!("{} = {value}", key.trim()))
}

impl Settings {
    /// The settings that hold for an agent with a file of its own. What is wrong with that file goes to
    /// the findings.
    pub fn for_agent(&self, own: &Source, findings: &mut Findings) -> Self {
        Self::default().add_shared(own, findings);
        let layers = Layers { agent: Some(own.clone()), ..self.layers.clone() };
        layered(&layers, &mut Findings::default())
    }

    fn add(&mut self, source: &Source, findings: &mut Findings) {
        let Some(node) = toml::parse(source, findings) else { return };
        self.add_node(source, node, findings);
    }

    /// Whoever shares a file with others does not say who gets their secrets.
    fn add_shared(&mut self, source: &Source, findings: &mut Findings) {
        let Some(mut node) = toml::parse(source, findings) else { return };
        if let Some(pair) = node.pair("secrets") {
            let text = Text::new("a project may not say who gets a secret")
                .help("say it in your own settings, ~/.config/agentry/agentry.toml");
            findings.at(Code::SharedSecrets, source, pair.key_span, text);
        }
        if let Kind::Map(pairs) = &mut node.kind {
            pairs.retain(|pair| pair.key != "secrets");
        }
        self.add_node(source, node, findings);
    }

    fn add_node(&mut self, source: &Source, mut node: Node, findings: &mut Findings) {
        schema::check(FileKind::Config, source, &mut node, findings);
        self.say(source, &node, "");
    }

    fn say(&mut self, source: &Source, node: &Node, pointer: &str) {
        match &node.kind {
            Kind::Map(pairs) => {
                for pair in pairs {
                    self.say(
                        source,
                        &pair.value,
                        &format!("{pointer}/{}", pointer_part(&pair.key)),
                    );
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => {
                self.forget(pointer);
                let said =
                    Said { value: node.to_value(), source: source.clone(), node: node.clone() };
                self.said.insert(pointer.to_owned(), said);
            }
        }
    }

    /// A later layer may put a plain value where an earlier one had a table, or the other way round.
    fn forget(&mut self, pointer: &str) {
        let mut above = pointer;
        while let Some((shorter, _)) = above.rsplit_once('/') {
            self.said.remove(shorter);
            above = shorter;
        }
        let below: Vec<String> = self.below(pointer).map(|(key, _)| key.clone()).collect();
        for key in below {
            self.said.remove(&key);
        }
    }

    fn below(&self, pointer: &str) -> impl Iterator<Item = (&String, &Said)> {
        let below = format!("{pointer}/");
        self.said.range(below.clone()..).take_while(move |(key, _)| key.starts_with(&below))
    }

    fn finish(&mut self, findings: &mut Findings) {
        let mut all = Value::Object(Map::new());
        for (pointer, said) in &self.said {
            put(&mut all, pointer, said.value.clone());
        }
        // The layers were checked one by one; together they can still not fit only if we are wrong.
        let config = serde_json::from_value(all.clone())
            .or_else(|_| serde_json::from_value(schema::with_whole_numbers(all)));
        match config {
            Ok(config) => self.config = config,
            Err(error) => findings.about(Code::WrongType, FILE, error.to_string()),
        }
        for (id, provider) in &self.config.providers {
            if provider.model_allowlist.is_empty() {
                let text =
                    Text::new(format!("the provider `{id}` lists no models, so it serves none"))
                        .help("set `model_allowlist`");
                let pointer = format!("/providers/{}", pointer_part(id));
                self.report(Code::EmptyAllowlist, &pointer, text, findings);
            }
        }
    }

    /// Where a value was said; `built-in` if nowhere.
    pub fn origin(&self, pointer: &str) -> Origin {
        self.nearest(pointer)
            .map_or_else(|| Origin::named("built-in"), |(said, span)| said.source.origin(span))
    }

    /// Notes a finding at a value.
    pub fn report(&self, code: Code, pointer: &str, text: Text, findings: &mut Findings) {
        match self.nearest(pointer) {
            Some((said, span)) => findings.at(code, &said.source, span, text),
            None => findings.about(code, FILE, text),
        }
    }

    /// The value itself, the first said below it, or the nearest above it; and its place.
    fn nearest(&self, pointer: &str) -> Option<(&Said, Span)> {
        if let Some(said) = self.said.get(pointer) {
            return Some((said, said.node.span));
        }
        if let Some((_, said)) = self.below(pointer).next() {
            return Some((said, said.node.span));
        }
        let mut above = pointer;
        loop {
            above = above.rsplit_once('/')?.0;
            if let Some(said) = self.said.get(above) {
                return Some((said, said.node.span_at(&pointer[above.len()..])));
            }
        }
    }

    /// All values that were said: dotted key, value, origin.
    pub fn all(&self) -> Vec<(String, &Value, Origin)> {
        let key = |pointer: &str| {
            let parts = pointer.split('/').skip(1).map(plain_part);
            parts.map(quoted_key).collect::<Vec<_>>().join(".")
        };
        self.said
            .iter()
            .map(|(pointer, said)| (key(pointer), &said.value, said.source.origin(said.node.span)))
            .collect()
    }

    fn text(&self, pointer: &str, value: Option<&String>) -> Option<Sourced<String>> {
        value.map(|value| Sourced::new(value.clone(), self.origin(pointer)))
    }

    /// The model for agents whose own cannot be had.
    pub fn default_model(&self) -> Option<Sourced<String>> {
        self.text("/agent/model", self.config.agent.model.as_ref())
    }

    /// The user's name.
    pub fn user_name(&self) -> Option<Sourced<String>> {
        self.text("/user/name", self.config.user.name.as_ref())
    }

    /// The name of the agent that the project describes.
    pub fn agent_name(&self) -> Option<Sourced<String>> {
        self.text("/agent/name", self.config.agent.name.as_ref())
    }

    /// Values for the template.
    pub fn args(&self) -> BTreeMap<String, Sourced<Value>> {
        let args = self.config.agent.args.iter();
        args.map(|(key, value)| {
            let origin = self.origin(&format!("/agent/args/{}", pointer_part(key)));
            (key.clone(), Sourced::new(value.clone(), origin))
        })
        .collect()
    }
}

fn quoted_key(part: String) -> String {
    let plain =
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if plain { part } else { Value::String(part).to_string() }
}

fn put(all: &mut Value, pointer: &str, value: Value) {
    let mut current = all;
    for part in pointer.split('/').skip(1) {
        let part = plain_part(part);
        if !current.is_object() {
            *current = Value::Object(Map::new());
        }
        let Value::Object(map) = current else { return };
        current = map.entry(part).or_insert(Value::Null);
    }
    *current = value;
}

/// Notes a finding for a variable that has no meaning.
fn report_unknown_variable(name: &str, known: &[&str], findings: &mut Findings) {
    let text = Text::new(format!("{name} is set but has no meaning")).help(suggestion(name, known));
    findings.about(Code::UnknownEnvironment, format!("environment {name}"), text);
}
