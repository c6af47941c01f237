//! Every event has its heading in the catalogue, and every heading its event.
//!
//! Must never: know which events there are; `event.rs` of protocol is the list.

use std::collections::BTreeMap;

use crate::tidy::{
    TidyFinding,
    tree::{SourceTree, TreeFile, numbered},
};

const EVENTS: &str = "crates/protocol/src/event.rs";
const PAGE: &str = "docs/events.md";

pub(crate) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let events = tree.file(EVENTS).map(events).unwrap_or_default();
    let headings = tree.file(PAGE).map(headings).unwrap_or_default();
    let unwritten = events.iter().filter(|(event, _)| !headings.contains_key(*event));
    let unwritten = unwritten.map(|(event, line)| {
        let remedy = format!("Add `### {event}` to {PAGE}: its fields, and who writes it");
        TidyFinding::new(
            EVENTS,
            *line,
            format!("the event {event} is not in the catalogue"),
            remedy,
        )
    });
    let unknown = headings.iter().filter(|(event, _)| !events.contains_key(*event));
    let unknown = unknown.map(|(event, line)| {
        let remedy = format!("Add the event to {EVENTS}, or delete the heading");
        TidyFinding::new(PAGE, *line, format!("there is no event {event}"), remedy)
    });
    unwritten.chain(unknown).collect()
}

/// Returns the variants of the enum, as they are written in the ledger, with their lines.
fn events(file: &TreeFile) -> BTreeMap<String, usize> {
    numbered(&file.text)
        .skip_while(|(_, line)| !line.starts_with("pub enum Event {"))
        .take_while(|(_, line)| *line != "}")
        .filter_map(|(number, line)| {
            let name = line.strip_prefix("    ")?;
            let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
            name.starts_with(|c: char| c.is_ascii_uppercase()).then(|| (snake_case(name), number))
        })
        .collect()
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

fn headings(file: &TreeFile) -> BTreeMap<String, usize> {
    let heading =
        |(number, line): (usize, &str)| Some((line.strip_prefix("### ")?.to_owned(), number));
    numbered(&file.text).filter_map(heading).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::fixture;

    const LIST: &str = "pub enum Other {\n    No,\n}\npub enum Event {\n    /// Began.\n    RunCreated(Plan),\n    \
                        RunEnded {\n        /// How.\n        Ending: u8,\n    },\n}\n";

    #[test]
    fn events_and_headings_that_match_are_fine() {
        let page = "# Events\n## Runs\n### run_created\n### run_ended\n";
        fixture::check(check, &[(EVENTS, LIST), (PAGE, page)], &[]);
    }

    #[test]
    fn an_event_without_a_heading_and_a_heading_without_an_event_are_found() {
        fixture::check(
            check,
            &[(EVENTS, LIST), (PAGE, "# Events\n### run_created\n### run_lost\n")],
            &[
                "crates/protocol/src/event.rs:7: the event run_ended is not in the catalogue",
                "docs/events.md:3: there is no event run_lost",
            ],
        );
    }
}
