//! Enabled tools and the limits of the shell, from `tool-access.json` and the environment.
//!
//! The file stands beside `AGENT.md` or in `context/`. A variable counts only if the file does not
//! set the value. A file that does not parse denies every tool, and so do two files: neither may be
//! ignored without a word.
//!
//! Must never: widen anything because a file or a variable is broken.

use std::collections::{BTreeMap, HashMap, HashSet};

use agentry_protocol::tool::{self, ToolName};
use serde::{Deserialize, Serialize};

use crate::diagnostic::{DiagnosticCode, FindingText, Findings, suggestion};
use crate::file_tree::FileTree;
use crate::json;
use crate::limits::{
    SHELL_OUTPUT_CHARS_DEFAULT, SHELL_OUTPUT_CHARS_MAX, SHELL_TIMEOUT_MS_DEFAULT,
    SHELL_TIMEOUT_MS_MAX,
};
use crate::manifest::tool_access::{AccessMode, OneToolAccess, ToolAccessJson};
use crate::node::Kind;
use crate::schema::{self, FileKind, ManifestFile};
use crate::source::{Origin, SourceText, SourcedValue, Span};

/// The places of the file below an agent's directory. Only one of them may be used at a time.
pub const FILES: [&str; 2] = ["context/tool-access.json", "tool-access.json"];
const SHELL_NAMES: [&str; 4] = ["shell", "bash", "Bash", "exec"];

/// The merged settings of the file and the environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolAccess {
    /// false disables every tool.
    pub enabled: SourcedValue<bool>,
    /// Off, only `allowed`, or all.
    pub mode: SourcedValue<AccessMode>,
    /// The enabled tools when the mode is `allowlist`.
    pub allowed: Vec<SourcedValue<ToolName>>,
    /// Tools that are disabled by name.
    pub off: Vec<SourcedValue<ToolName>>,
    /// The limits of the shell.
    pub shell: ShellAccess,
    /// The origin of a file that is present and cannot be used; every tool is then disabled.
    pub broken: Option<Origin>,
}

/// The limits of the shell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShellAccess {
    /// Off, only commands with a listed prefix, or all.
    pub mode: SourcedValue<AccessMode>,
    /// The listed prefixes.
    pub allowed_prefixes: Vec<SourcedValue<String>>,
    /// The time limit of a call, in milliseconds.
    pub timeout_ms: SourcedValue<u64>,
    /// The largest output that is kept, in characters.
    pub max_output_chars: SourcedValue<u64>,
    /// True if a call may name a working directory outside of the workspace.
    pub allow_any_cwd: SourcedValue<bool>,
}

/// The reason why a tool is disabled.
#[derive(Clone, Debug)]
pub struct DisabledReason {
    /// The message.
    pub why: String,
    /// The place of the setting.
    pub origin: Origin,
}

impl ToolAccess {
    /// Returns the reason why a tool is disabled; `None` if it may be used.
    pub fn why_off(&self, name: &ToolName) -> Option<DisabledReason> {
        let off = |why: &str, origin: &Origin| {
            Some(DisabledReason { why: why.to_owned(), origin: origin.clone() })
        };
        if let Some(origin) = &self.broken {
            return off("tool-access.json cannot be used, so nothing is on", origin);
        }
        if !self.enabled.value {
            return off("all tools are switched off", &self.enabled.origin);
        }
        match self.mode.value {
            AccessMode::Off => return off("the mode of all tools is off", &self.mode.origin),
            AccessMode::Allowlist if !self.allowed.iter().any(|one| one.value == *name) => {
                return off("it is not in allowedTools", &self.mode.origin);
            }
            AccessMode::Allowlist | AccessMode::Full => {}
        }
        if let Some(entry) = self.off.iter().find(|one| one.value == *name) {
            return off("it is switched off", &entry.origin);
        }
        if name.as_str() == "bash" && self.shell.mode.value == AccessMode::Off {
            return off("the mode of the shell is off", &self.shell.mode.origin);
        }
        None
    }
}

/// Reads the file, if there is one, and the variables.
pub fn read(
    tree: &FileTree,
    custom: &[&str],
    environment: &BTreeMap<String, String>,
    findings: &mut Findings,
) -> ToolAccess {
    let present: Vec<&str> = FILES.into_iter().filter(|file| tree.get(file).is_some()).collect();
    let mut docs = Vec::new();
    let mut broken = None;
    for file in &present {
        let doc = parsed(tree, file, custom, findings);
        if doc.is_none() || findings.has_errors_in(&tree.display_path(file)) {
            broken = broken.or(Some(*file));
        }
        docs.extend(doc);
    }
    if let [first, second] = present[..] {
        report_both(tree, first, second, findings);
        broken = broken.or(Some(second));
    }
    let doc = docs.first();
    report_unknown_knobs(environment, findings);
    let knobs = ToolAccessEnvironment { environment };
    let file = ToolAccessFile { doc };
    ToolAccess {
        enabled: file
            .said("/global/enabled", |one| one.global.as_ref()?.enabled)
            .unwrap_or_else(|| knobs.flag("TOOLS_ENABLED", true, findings)),
        mode: file
            .said("/global/mode", |one| one.global.as_ref()?.mode)
            .unwrap_or_else(|| knobs.mode("TOOLS_MODE", AccessMode::Full, findings)),
        allowed: file.allowed().unwrap_or_else(|| {
            let words = knobs.words("TOOLS_ALLOWED").into_iter();
            words
                .map(|word| SourcedValue::new(ToolName::canonical(&word.value), word.origin))
                .collect()
        }),
        off: file.off(&knobs, findings),
        shell: shell(&file, &knobs, findings),
        broken: broken.map(|file| Origin {
            file: tree.display_path(file).into(),
            line: 1,
            column: 1,
        }),
    }
}

/// Reads and checks one of the files.
fn parsed(
    tree: &FileTree,
    file: &str,
    custom: &[&str],
    findings: &mut Findings,
) -> Option<ManifestFile<ToolAccessJson>> {
    let source = tree.text(file, findings)?;
    let node = json::parse(&source, findings)?;
    let doc = schema::read::<ToolAccessJson>(FileKind::ToolAccess, &source, node, findings)?;
    check_names(&doc, custom, findings);
    check_doubles(&doc, findings);
    Some(doc)
}

/// Reports that both places have a file: one of them would be ignored.
fn report_both(tree: &FileTree, first: &str, second: &str, findings: &mut Findings) {
    let (first, second) = (tree.display_path(first), tree.display_path(second));
    let text =
        FindingText::new(format!("both {second} and {first} say which tools are on, so none is"))
            .help("keep one of the two files and move what the other says into it");
    findings.about(DiagnosticCode::TwoToolAccessFiles, second, text);
}

fn shell(
    file: &ToolAccessFile<'_>,
    knobs: &ToolAccessEnvironment<'_>,
    findings: &mut Findings,
) -> ShellAccess {
    let (name, entry) = file.shell();
    let said = |field: &str| format!("/tools/{name}/{field}");
    let of = |field: &str, pick: &dyn Fn(&OneToolAccess) -> Option<u64>| {
        let doc = file.doc?;
        Some((
            doc.sourced(&said(field), entry.and_then(pick)?),
            doc.source.clone(),
            doc.span(&said(field)),
        ))
    };
    let timeout = of("timeoutMs", &|one| one.timeout_ms);
    let output = of("maxOutputChars", &|one| one.max_output_chars);
    let prefixes =
        entry.and_then(|one| one.allowed_prefixes.as_ref()).zip(file.doc).map(|(list, doc)| {
            let list = list.iter().enumerate();
            list.map(|(at, prefix)| {
                doc.sourced(&format!("{}/{at}", said("allowedPrefixes")), prefix.clone())
            })
            .collect()
        });
    let mode = entry.and_then(|one| one.mode).zip(file.doc);
    let any = entry.and_then(|one| one.allow_any_cwd).zip(file.doc);
    ShellAccess {
        mode: mode
            .map(|(mode, doc)| doc.sourced(&said("mode"), mode))
            .unwrap_or_else(|| knobs.mode("SHELL_TOOL_MODE", AccessMode::Allowlist, findings)),
        allowed_prefixes: prefixes.unwrap_or_else(|| knobs.words("SHELL_TOOL_ALLOWED_PREFIXES")),
        timeout_ms: knobs.number(
            "SHELL_TOOL_TIMEOUT_MS",
            timeout,
            NumberRange { default: SHELL_TIMEOUT_MS_DEFAULT, cap: SHELL_TIMEOUT_MS_MAX },
            findings,
        ),
        max_output_chars: knobs.number(
            "SHELL_TOOL_MAX_OUTPUT_CHARS",
            output,
            NumberRange { default: SHELL_OUTPUT_CHARS_DEFAULT, cap: SHELL_OUTPUT_CHARS_MAX },
            findings,
        ),
        allow_any_cwd: any
            .map(|(any, doc)| doc.sourced(&said("allowAnyCwd"), any))
            .unwrap_or_else(|| knobs.flag("SHELL_TOOL_ALLOW_ANY_CWD", false, findings)),
    }
}

const SHELL_KNOBS: [&str; 6] = [
    "SHELL_TOOL_ENABLED",
    "SHELL_TOOL_MODE",
    "SHELL_TOOL_ALLOWED_PREFIXES",
    "SHELL_TOOL_TIMEOUT_MS",
    "SHELL_TOOL_MAX_OUTPUT_CHARS",
    "SHELL_TOOL_ALLOW_ANY_CWD",
];

/// Reports misspelt variables, which would leave the shell wider than intended.
fn report_unknown_knobs(environment: &BTreeMap<String, String>, findings: &mut Findings) {
    let unknown = environment
        .keys()
        .filter(|name| name.starts_with("SHELL_TOOL_") && !SHELL_KNOBS.contains(&name.as_str()));
    for name in unknown {
        let text = FindingText::new(format!("{name} is set but has no meaning"))
            .help(suggestion(name, &SHELL_KNOBS));
        findings.about(DiagnosticCode::UnknownEnvironment, format!("environment {name}"), text);
    }
}

fn check_names(doc: &ManifestFile<ToolAccessJson>, custom: &[&str], findings: &mut Findings) {
    let own: HashSet<&str> = custom.iter().copied().collect();
    let known = |name: &str| {
        tool::find_known_tool(name).is_some()
            || ToolName::canonical(name).mcp().is_some()
            || own.contains(name)
    };
    let names: Vec<&str> =
        tool::KNOWN.iter().map(|tool| tool.name).chain(custom.iter().copied()).collect();
    let mut report = |name: &str, span: Span| {
        findings.at_with(DiagnosticCode::AccessForUnknownTool, &doc.source, span, || {
            FindingText::new(format!("no tool is called `{name}`, so this has no effect"))
                .help(suggestion(name, &names))
        });
    };
    let tools = doc.node.pair("tools").map(|pair| &pair.value.kind);
    if let Some(Kind::Map(pairs)) = tools {
        for pair in pairs.iter().filter(|pair| !known(&pair.key)) {
            report(&pair.key, pair.key_span);
        }
    }
    let allowed = doc.manifest.global.as_ref().and_then(|global| global.allowed_tools.as_ref());
    for (at, name) in allowed.into_iter().flatten().enumerate().filter(|(_, name)| !known(name)) {
        report(name, doc.span(&format!("/global/allowedTools/{at}")));
    }
}

/// Reports two entries for one tool: of `bash` and `shell` one would be ignored without a word.
fn check_doubles(doc: &ManifestFile<ToolAccessJson>, findings: &mut Findings) {
    let tools = doc.node.pair("tools").map(|pair| &pair.value.kind);
    let Some(Kind::Map(pairs)) = tools else { return };
    let mut seen: HashMap<ToolName, &str> = HashMap::new();
    for pair in pairs {
        if let Some(first) = seen.insert(ToolName::canonical(&pair.key), &pair.key) {
            let text = FindingText::new(format!("`{}` and `{first}` are the same tool", pair.key))
                .help("keep one of the two");
            findings.at(DiagnosticCode::DuplicateKey, &doc.source, pair.key_span, text);
        }
    }
}

struct ToolAccessFile<'a> {
    doc: Option<&'a ManifestFile<ToolAccessJson>>,
}

impl ToolAccessFile<'_> {
    fn said<V>(
        &self,
        pointer: &str,
        pick: impl Fn(&ToolAccessJson) -> Option<V>,
    ) -> Option<SourcedValue<V>> {
        let doc = self.doc?;
        Some(doc.sourced(pointer, pick(&doc.manifest)?))
    }

    fn allowed(&self) -> Option<Vec<SourcedValue<ToolName>>> {
        let doc = self.doc?;
        let allowed = doc.manifest.global.as_ref()?.allowed_tools.as_ref()?.iter().enumerate();
        let one = |(at, name): (usize, &String)| {
            doc.sourced(&format!("/global/allowedTools/{at}"), ToolName::canonical(name))
        };
        Some(allowed.map(one).collect())
    }

    fn off(
        &self,
        knobs: &ToolAccessEnvironment<'_>,
        findings: &mut Findings,
    ) -> Vec<SourcedValue<ToolName>> {
        let mut off = Vec::new();
        if let Some(doc) = self.doc {
            for (name, entry) in &doc.manifest.tools {
                let field = match (entry.enabled, entry.mode) {
                    (Some(false), _) => "enabled",
                    (_, Some(AccessMode::Off)) => "mode",
                    (_, Some(AccessMode::Allowlist | AccessMode::Full) | None) => continue,
                };
                let pointer = format!("/tools/{}/{field}", crate::node::pointer_part(name));
                off.push(doc.sourced(&pointer, ToolName::canonical(name)));
            }
        }
        if self.shell().1.and_then(|shell| shell.enabled).is_none() {
            let knob = knobs.flag("SHELL_TOOL_ENABLED", true, findings);
            if !knob.value {
                off.push(SourcedValue::new(ToolName::canonical("bash"), knob.origin));
            }
        }
        off
    }

    fn shell(&self) -> (&'static str, Option<&OneToolAccess>) {
        let Some(doc) = self.doc else { return (SHELL_NAMES[0], None) };
        let found =
            SHELL_NAMES.iter().find_map(|name| Some((*name, doc.manifest.tools.get(*name)?)));
        found.map_or((SHELL_NAMES[0], None), |(name, entry)| (name, Some(entry)))
    }
}

/// The default of a number, and the highest one that is used.
struct NumberRange {
    default: u64,
    cap: u64,
}

/// The value of a variable that is not set, and the help for one that is invalid.
struct VariableForm<V> {
    default: V,
    help: &'static str,
}

struct ToolAccessEnvironment<'a> {
    environment: &'a BTreeMap<String, String>,
}

impl ToolAccessEnvironment<'_> {
    fn flag(&self, name: &str, default: bool, findings: &mut Findings) -> SourcedValue<bool> {
        self.parsed(name, VariableForm { default, help: "write true or false" }, findings, |text| {
            match text {
                "true" | "1" | "yes" | "on" => Some(true),
                "false" | "0" | "no" | "off" => Some(false),
                _ => None,
            }
        })
    }

    fn mode(
        &self,
        name: &str,
        default: AccessMode,
        findings: &mut Findings,
    ) -> SourcedValue<AccessMode> {
        self.parsed(
            name,
            VariableForm { default, help: "write off, allowlist or full" },
            findings,
            |text| match text {
                "off" => Some(AccessMode::Off),
                "allowlist" => Some(AccessMode::Allowlist),
                "full" => Some(AccessMode::Full),
                _ => None,
            },
        )
    }

    fn words(&self, name: &str) -> Vec<SourcedValue<String>> {
        let text = self.environment.get(name).map(String::as_str).unwrap_or_default();
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words
            .map(|word| {
                SourcedValue::new(word.to_owned(), Origin::named(format!("environment {name}")))
            })
            .collect()
    }

    fn number(
        &self,
        name: &str,
        file: Option<(SourcedValue<u64>, SourceText, Span)>,
        range: NumberRange,
        findings: &mut Findings,
    ) -> SourcedValue<u64> {
        let NumberRange { default, cap } = range;
        let words = |value| {
            FindingText::new(format!("{value} is above the cap of {cap}, which is used"))
                .help(format!("write at most {cap}"))
        };
        let number = match file {
            Some((number, source, span)) => {
                if number.value > cap {
                    findings.at(DiagnosticCode::OverTheCap, &source, span, words(number.value));
                }
                number
            }
            None => {
                let number = self.parsed(
                    name,
                    VariableForm { default, help: "write a whole number above zero" },
                    findings,
                    |text| text.parse().ok().filter(|number| *number > 0),
                );
                if number.value > cap {
                    findings.about(
                        DiagnosticCode::OverTheCap,
                        format!("environment {name}"),
                        words(number.value),
                    );
                }
                number
            }
        };
        SourcedValue::new(number.value.min(cap), number.origin)
    }

    /// Parses a variable. An invalid one is an error, and the built-in value applies.
    fn parsed<V>(
        &self,
        name: &str,
        form: VariableForm<V>,
        findings: &mut Findings,
        parse: impl Fn(&str) -> Option<V>,
    ) -> SourcedValue<V> {
        let VariableForm { default, help } = form;
        let Some(text) = self.environment.get(name) else {
            return SourcedValue::new(default, Origin::named("built-in"));
        };
        let origin = Origin::named(format!("environment {name}"));
        match parse(text.trim()) {
            Some(value) => SourcedValue::new(value, origin),
            None => {
                let words = FindingText::new(format!("{name} is `{text}`")).help(help);
                findings.about(DiagnosticCode::EnvironmentValue, origin.file, words);
                SourcedValue::new(default, Origin::named("built-in"))
            }
        }
    }
}
