//! Commands about the workspace and the machine: diff, undo, export and doctor.
//!
//! Must never: overwrite an existing file, or change git's data other than a hidden reference.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::thread;

use crate::events::{ChatEvent, send_if_open};
use crate::snapshot::{self, Snapshots};
use crate::style::{BAD, DIM, GOOD, StyledRow, row};
use crate::wrap::chopped;
use crate::{TerminalChat, export, question};

impl TerminalChat<'_> {
    pub(super) fn diff(&mut self) {
        let columns = self.screen.width();
        match snapshot::diff(self.talk.workspace()) {
            Ok(text) if text.trim().is_empty() => self.note("No changes.", DIM),
            Ok(text) => {
                let line = |line: &str| chopped(&row(line, question::diff_style(line)), columns);
                let rows: Vec<StyledRow> = text.lines().flat_map(line).collect();
                self.page(rows);
            }
            Err(why) => self.note(&why, BAD),
        }
    }

    pub(super) fn undo(&mut self) {
        match Snapshots::of(self.talk.workspace(), self.talk.key.as_str()).undo() {
            Ok(files) if files.is_empty() => self.note("The last turn changed no files.", DIM),
            Ok(files) => {
                let list = files.join(", ");
                self.note(&format!("Reverted: {list}"), GOOD);
                let context =
                    format!("[I reverted the changes of your last turn in these files: {list}]");
                self.backlog.context.push(context);
            }
            Err(why) => self.note(&why, BAD),
        }
    }

    pub(super) fn export(&mut self, file: &str) {
        let name = match file {
            "" => format!("{}.md", self.talk.key),
            file => file.to_owned(),
        };
        let path: PathBuf = self.talk.workspace().join(&name);
        let text = match export::markdown(&self.talk) {
            Ok(text) => text,
            Err(error) => return self.note(&error.to_string(), BAD),
        };
        let written = OpenOptions::new().write(true).create_new(true).open(&path);
        match written.and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => self.note(&format!("Saved to {}.", path.display()), GOOD),
            Err(error) => self.note(&format!("Cannot write {}: {error}", path.display()), BAD),
        }
    }

    pub(super) fn doctor(&mut self) {
        let environment = self.host.environment.clone();
        let wanted = self.talk.engine.loaded.library.settings.sandbox().clone();
        let (wake, doctor_report) = (self.wake.clone(), self.surface.doctor_report);
        self.hint("Checking …");
        thread::spawn(move || {
            let text = doctor_report(&environment, &wanted);
            let rows = text.lines().map(|line| row(line, Default::default())).collect();
            send_if_open(&wake, ChatEvent::Rows(rows));
        });
    }
}
