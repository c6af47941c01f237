//! Spending limits: the operator sets them, and all other settings can only lower them.
//!
//! Must never: let a file that comes with a project raise a limit.

use serde_json::Value;

use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::layered_values::LayeredValues;
use crate::node::{Kind, Node};
use crate::sandbox::SettingsAuthor;
use crate::source::SourceText;

/// The names of the limits in dollars.
const AMOUNTS: [&str; 3] = ["run", "session", "day"];

/// The spending limits that a project or an agent requests.
#[derive(Clone, Debug)]
pub(super) struct SpendingRequest {
    speaker: SettingsAuthor,
    source: SourceText,
    node: Node,
}

/// Moves the spending limits out of a file's tree.
pub(super) fn take_request(
    speaker: SettingsAuthor,
    source: &SourceText,
    node: &mut Node,
) -> Option<SpendingRequest> {
    let Kind::Map(sections) = &mut node.kind else { return None };
    let limits = sections.iter_mut().find(|pair| pair.key == "limits")?;
    let Kind::Map(pairs) = &mut limits.value.kind else { return None };
    let at = pairs.iter().position(|pair| pair.key == "spending")?;
    let node = pairs.remove(at).value;
    Some(SpendingRequest { speaker, source: source.clone(), node })
}

/// Lowers the limits to the requested ones. A request to raise one goes to the findings.
pub(super) fn apply_requests(
    requests: &[SpendingRequest],
    said: &mut LayeredValues,
    findings: &mut Findings,
) {
    for request in requests {
        for key in AMOUNTS {
            let less = |asked: &Value, held: &Value| asked.as_f64() <= held.as_f64();
            request.apply(key, less, said, findings);
        }
        let stricter = |asked: &Value, held: &Value| asked == held || asked == "refuse";
        request.apply("unknown", stricter, said, findings);
    }
}

impl SpendingRequest {
    fn apply(
        &self,
        key: &str,
        fits: impl Fn(&Value, &Value) -> bool,
        said: &mut LayeredValues,
        findings: &mut Findings,
    ) {
        let pointer = format!("/limits/spending/{key}");
        let Some(pair) = self.node.pair(key) else { return };
        if said.value(&pointer).is_none_or(|held| fits(&pair.value.to_value(), held)) {
            said.insert_tree(&self.source, &pair.value, &pointer);
            return;
        }
        let text = FindingText::new(format!(
            "{} may not let more be spent; it has no effect",
            self.speaker
        ))
        .help(format!("set `limits.spending.{key}` in your own settings, or with -c"));
        findings.at(DiagnosticCode::OperatorOnly, &self.source, pair.value.span, text);
    }
}
