//! Event hooks: the manifest beside a script.
//!
//! `urgent.yml` belongs to `urgent.py`. It holds the triggers and limits of the script; the script
//! itself is stored by the code that registers the hook.
//!
//! Must never: look for the script, or decide whether a hook may be registered.

use agentry_protocol::event_hook::{HookMode, Triggers};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::file_tree;
use crate::limits::{
    EVENT_HOOK_CONFIG_BYTES_MAX, EVENT_HOOK_TIMEOUT_MS_DEFAULT, EVENT_HOOK_TIMEOUT_MS_MAX,
    FILE_BYTES_MAX,
};
use crate::manifest::event_hook_yml::EventHookYml;
use crate::schema::{self, FileKind, ManifestFile};
use crate::source::Span;
use crate::yaml;

/// The manifest of an event hook, all limits set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HookManifest {
    /// The name of the hook.
    pub name: String,
    /// The purpose of the hook.
    pub description: Option<String>,
    /// The behavior after the hook fired.
    pub mode: HookMode,
    /// The conditions for a run of the script.
    pub triggers: Triggers,
    /// Values that are passed to the script at each run.
    pub config: Map<String, Value>,
    /// The time limit of the script, in milliseconds.
    pub timeout_ms: u64,
    /// True if the script may query the model.
    pub model: bool,
}

/// Reads the text of a file. `None` if there is an error among its findings.
pub fn read(text: &str, file: &str, findings: &mut Findings) -> Option<HookManifest> {
    let mut own = Findings::default();
    let manifest = checked(text, file, &mut own).filter(|_| !own.has_errors());
    findings.append(own);
    manifest
}

fn checked(text: &str, file: &str, findings: &mut Findings) -> Option<HookManifest> {
    if text.len() > FILE_BYTES_MAX {
        let text = FindingText::new(format!("the file has {} bytes", text.len()))
            .help(format!("a definition has at most {FILE_BYTES_MAX} bytes"));
        findings.about(DiagnosticCode::TooLarge, file, text);
        return None;
    }
    let source = file_tree::decode_utf8(file.to_owned(), text.as_bytes(), findings)?;
    let node = yaml::parse(&source, Span::new(0, source.text.len()), findings)?;
    let doc: ManifestFile<EventHookYml> =
        schema::read(FileKind::EventHook, &source, node, findings)?;
    let written = doc.manifest;
    let bytes = Value::Object(written.config.clone()).to_string().len();
    if bytes > EVENT_HOOK_CONFIG_BYTES_MAX {
        let text = FindingText::new(format!("`config` has {bytes} bytes"))
            .help(format!("it may have at most {EVENT_HOOK_CONFIG_BYTES_MAX}, written as JSON"));
        findings.at(DiagnosticCode::OutOfRange, &source, doc.node.span_at("/config"), text);
    }
    let usual =
        if written.model { EVENT_HOOK_TIMEOUT_MS_MAX } else { EVENT_HOOK_TIMEOUT_MS_DEFAULT };
    Some(HookManifest {
        name: written.name,
        description: written.description,
        mode: written.mode,
        triggers: written.triggers.unwrap_or_default(),
        config: written.config,
        timeout_ms: written.timeout_ms.unwrap_or(usual),
        model: written.model,
    })
}
