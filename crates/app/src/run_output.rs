//! Output of a run in progress: lines for programs, text for people, approvals at the terminal.
//!
//! One thread shows all entries in the order of the ledger. A question delays only the output,
//! never the run: other calls of the same reply continue.
//!
//! Must never: show a fact that is not in the ledger, except deltas of a reply.

use std::cell::RefCell;
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use agentry_kernel::identity::TERMINAL;
use agentry_model::Delta;
use agentry_protocol::CallId;
use agentry_protocol::approval::{Approval, ApprovalAnswer, ApprovalScope};
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_runtime::commands::CommandContext;
use agentry_runtime::commands::approvals::{self, AnswerRequest};
use agentry_runtime::definitions::plan::{self, CallScope};
use agentry_runtime::redact::TextEdges;
use agentry_runtime::{Host, RunObserver};
use agentry_tools::Workspace;

use crate::agent_events::{self, AgentLineEncoder};
use crate::approval_text;
use crate::text_output::TextOutput;

/// Output mode of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputMode {
    /// A JSON object per line.
    JsonLines,
    /// Text, without questions.
    Text,
    /// Text, with approvals asked at the terminal.
    Terminal,
}

/// An item of output.
enum OutputItem {
    Entry(Box<Envelope>),
    Delta(EntrySubject, u64, Delta),
    Progress(String),
    Line(String),
    History(Vec<Envelope>),
}

/// Sends items to the output thread; never blocks.
pub(crate) struct RunOutput {
    sender: Sender<OutputItem>,
}

impl RunObserver for RunOutput {
    fn on_entry(&self, envelope: &Envelope) {
        self.send(OutputItem::Entry(Box::new(envelope.clone())));
    }

    fn on_delta(&self, about: &EntrySubject, asked: u64, delta: &Delta) {
        self.send(OutputItem::Delta(about.clone(), asked, delta.clone()));
    }

    fn on_progress(&self, _: &EntrySubject, _: &CallId, line: &str) {
        self.send(OutputItem::Progress(line.to_owned()));
    }
}

impl RunOutput {
    /// Sends earlier entries, which are not shown but needed as context.
    pub(crate) fn recall(&self, past: Vec<Envelope>) {
        self.send(OutputItem::History(past));
    }

    /// Sends a separate line, shown between those of runs.
    pub(crate) fn write_line(&self, line: String) {
        self.send(OutputItem::Line(line));
    }

    /// Sends an item. The thread ends before its senders only by a panic, which the caller that
    /// joins it reports; until then the run goes on without output.
    fn send(&self, item: OutputItem) {
        self.sender.send(item).ok();
    }
}

/// Starts the output thread, which ends with its last sender and returns the first write error.
pub(crate) fn open(
    look: OutputMode,
    parts: &Arc<Host>,
    workspace: &std::path::Path,
) -> (Arc<RunOutput>, JoinHandle<io::Result<()>>) {
    let (sender, receiver) = mpsc::channel();
    let parts = parts.clone();
    let workspace = Workspace::open(workspace).ok();
    let shower = thread::spawn(move || match look {
        OutputMode::JsonLines => show_lines(&receiver),
        OutputMode::Text => show_text(&receiver, None),
        OutputMode::Terminal => show_text(
            &receiver,
            Some(&TerminalAsker { parts, workspace, scope: RefCell::default() }),
        ),
    });
    (Arc::new(RunOutput { sender }), shower)
}

fn show_lines(receiver: &Receiver<OutputItem>) -> io::Result<()> {
    let mut lines = AgentLineEncoder::default();
    let mut out = crate::output::stdout().lock();
    let mut result = Ok(());
    for shown in receiver {
        let texts: Vec<String> = match shown {
            OutputItem::Entry(envelope) => {
                lines.of(&envelope).iter().map(agent_events::text).collect()
            }
            OutputItem::Delta(about, asked, delta) => agent_events::of_delta(&about, asked, &delta)
                .iter()
                .map(agent_events::text)
                .collect(),
            // Programs read recorded entries only.
            OutputItem::Progress(_) => Vec::new(),
            OutputItem::Line(line) => vec![line],
            OutputItem::History(past) => {
                past.iter().for_each(|envelope| drop(lines.of(envelope)));
                Vec::new()
            }
        };
        // A closed output does not stop the run; the error is returned at the end.
        for text in texts {
            result = result.and_then(|()| writeln!(out, "{text}")).and_then(|()| out.flush());
        }
    }
    result
}

fn show_text(receiver: &Receiver<OutputItem>, asker: Option<&TerminalAsker>) -> io::Result<()> {
    let mut progress = TextOutput::new(io::stdout().is_terminal());
    for shown in receiver {
        match shown {
            OutputItem::Entry(envelope) => {
                progress.entry(&envelope);
                if let Some(asker) = asker {
                    asker.look_at(&envelope.event);
                }
                if let (Some(asker), Event::ApprovalAsked(approval)) = (asker, &envelope.event) {
                    asker.ask(approval);
                }
            }
            OutputItem::Delta(_, _, delta) => progress.piece(&delta),
            OutputItem::Progress(line) => progress.note(&format!("  … {line}")),
            OutputItem::Line(line) => progress.note(&line),
            OutputItem::History(past) => {
                past.iter().for_each(|envelope| progress.recall(envelope));
                if let Some(asker) = asker {
                    past.iter().for_each(|envelope| asker.look_at(&envelope.event));
                }
            }
        }
    }
    progress.result()
}

/// The terminal at which a person answers approvals.
struct TerminalAsker {
    parts: Arc<Host>,
    workspace: Option<Workspace>,
    /// The agent and the confinement of the active turn.
    scope: RefCell<Option<CallScope>>,
}

impl TerminalAsker {
    /// Stores the scope of the turn's calls, which their previews need.
    fn look_at(&self, event: &Event) {
        if let Event::TurnStarted(plan) = event {
            self.scope.replace(plan::call_scope(plan));
        }
    }

    fn ask(&self, approval: &Approval) {
        let mut err = crate::output::stderr().lock();
        let asked = self.show(approval, &mut err).and_then(|()| {
            let lasting = match approval.request() {
                Some(_) => ApprovalReach::Permission,
                None => ApprovalReach::Session,
            };
            read_answer(lasting, &mut err)
        });
        drop(err);
        // Without an answer the approval stays open, and the run can be resumed.
        let Ok(Some(answer)) = asked else { return };
        let request =
            AnswerRequest { approval: &approval.id, answer, by: TERMINAL, digest: None, run: None };
        if let Err(error) = approvals::answer(CommandContext::from(&*self.parts), request) {
            crate::output::write_stderr_line(&format!("the answer was not recorded: {error}"));
        }
    }

    /// Shows the exact input, the reason with its rule, and a diff for writes.
    fn show(&self, approval: &Approval, out: &mut dyn Write) -> io::Result<()> {
        let bold = anstyle::Style::new().bold();
        let call = &approval.call;
        writeln!(out, "\n{bold}Allow the call of `{}`?{bold:#}  {}", call.tool, approval.id)?;
        for line in approval.request().map(approval_text::request_lines).unwrap_or_default() {
            writeln!(out, "  {}", approval_text::legible_text(&line))?;
        }
        let input = serde_json::to_string_pretty(&call.input).unwrap_or_default();
        let input = self.parts.redactor.hide(&unquoted(&call.input).unwrap_or(input));
        for line in approval_text::legible_text(&input).lines() {
            writeln!(out, "  {line}")?;
        }
        for line in approval_text::facts(approval) {
            writeln!(out, "  {}", self.parts.redactor.hide(&line))?;
        }
        if let Some(finding) = approval.ruling.deciding() {
            let rule = finding.rule.as_deref().unwrap_or("built-in");
            writeln!(out, "  why: {} ({rule})", approval_text::legible_text(&finding.why))?;
        }
        if let Some(changed) = approval.facts.change_summary() {
            writeln!(out, "  changed since it was allowed:")?;
            for line in changed.lines() {
                writeln!(out, "  {}", approval_text::legible_text(line))?;
            }
        }
        if let Some(diff) = self.preview(approval) {
            writeln!(out, "{}", approval_text::legible_text(&diff))?;
        }
        Ok(())
    }

    /// Returns a diff of the call's effect on the workspace, with secrets redacted.
    fn preview(&self, approval: &Approval) -> Option<String> {
        let (workspace, scope) = (self.workspace.as_ref()?, self.scope.borrow());
        let preview = self.parts.preview(&approval.call, scope.as_ref()?, workspace)?;
        Some(self.parts.redactor.text(&preview, TextEdges::Cut).text)
    }
}

/// Returns the command line of a call whose only argument is `command`; it reads better than JSON.
fn unquoted(input: &serde_json::Value) -> Option<String> {
    let fields = input.as_object()?;
    let command = fields.get("command")?.as_str()?;
    (fields.len() == 1).then(|| format!("$ {command}"))
}

/// Scope that an approval can have beyond the call.
#[derive(Clone, Copy)]
enum ApprovalReach {
    /// An equal call, for the rest of the session.
    Session,
    /// A grant to the requester, for a day or always.
    Permission,
}

/// Reads an answer from the terminal. Returns None at the end of the input.
fn read_answer(lasting: ApprovalReach, out: &mut dyn Write) -> io::Result<Option<ApprovalAnswer>> {
    let mut input = io::stdin().lock();
    loop {
        let longer = match lasting {
            ApprovalReach::Session => "[s] the same call for this session",
            ApprovalReach::Permission => "[d] for a day  [a] always",
        };
        write!(out, "[y] once  {longer}  [n] no: ")?;
        out.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let word = line.trim();
        let (letter, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        let answer = match (letter, lasting) {
            ("y" | "Y", _) => ApprovalAnswer::approved(ApprovalScope::Once),
            ("s" | "S", ApprovalReach::Session) => ApprovalAnswer::approved(ApprovalScope::Session),
            ("d" | "D", ApprovalReach::Permission) => ApprovalAnswer::approved(ApprovalScope::Day),
            ("a" | "A", ApprovalReach::Permission) => {
                ApprovalAnswer::approved(ApprovalScope::Always)
            }
            ("n" | "N", _) => {
                let given = rest.trim_start_matches(['o', 'O', ':', ',']).trim();
                let reason = match given {
                    "" => {
                        write!(out, "reason (sent to the agent; may be empty): ")?;
                        out.flush()?;
                        let mut reason = String::new();
                        input.read_line(&mut reason)?;
                        reason.trim().to_owned()
                    }
                    given => given.to_owned(),
                };
                ApprovalAnswer::declined((!reason.is_empty()).then_some(reason))
            }
            _ => continue,
        };
        return Ok(Some(answer));
    }
}
