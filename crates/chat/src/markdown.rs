//! Renders Markdown as rows.
//!
//! A growing text is rendered in units, each final once another follows it: a block, an item of a
//! list, a line of code.
//!
//! Must never: print a control character, or a row wider than requested.

mod table;

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;
use ratatui::text::Span;

use super::highlight::Highlighter;
use super::style::{BOLD, CODE, DIM, HEADING, ITALIC, LINK, STRUCK, StyledRow, clean};
use super::wrap::{chopped, width, wrapped};

/// One unit of a rendered text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MarkdownUnit {
    /// The rows of the unit.
    pub(crate) rows: Vec<StyledRow>,
    /// The byte offset of its block in the text.
    pub(crate) block: usize,
}

/// Renders a text as units.
pub(crate) fn units(text: &str, columns: usize, code: &mut Highlighter) -> Vec<MarkdownUnit> {
    let mut units = Vec::new();
    for (block, events) in blocks(text) {
        let mut page = MarkdownRenderer::new(columns, code);
        page.take(&events);
        let mut parts = page.finished();
        // A row between two blocks belongs to the second.
        if block > 0
            && let Some(first) = parts.first_mut()
        {
            first.insert(0, StyledRow::default());
        }
        units.extend(parts.into_iter().map(|rows| MarkdownUnit { rows, block }));
    }
    units
}

/// Renders a complete text as rows.
pub(crate) fn rows(text: &str, columns: usize) -> Vec<StyledRow> {
    let units = units(text, columns, &mut Highlighter::default());
    units.into_iter().flat_map(|unit| unit.rows).collect()
}

type MarkdownBlock<'a> = (usize, Vec<Event<'a>>);

/// Returns the top-level blocks of a text, with their byte offsets.
fn blocks(text: &str) -> Vec<MarkdownBlock<'_>> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut blocks: Vec<MarkdownBlock<'_>> = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        let Range { start, .. } = range;
        match &event {
            Event::Start(_) => {
                if depth == 0 {
                    blocks.push((start, Vec::new()));
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => blocks.push((start, Vec::new())),
            _ => {}
        }
        if let Some((_, events)) = blocks.last_mut() {
            events.push(event);
        }
    }
    blocks
}

/// Renderer of one block.
struct MarkdownRenderer<'a> {
    columns: usize,
    code: &'a mut Highlighter,
    /// The finished rows, by unit.
    units: Vec<Vec<StyledRow>>,
    /// The current paragraph.
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// The prefix of each row at this nesting.
    lead: RowPrefix,
    lists: Vec<Option<u64>>,
    /// The current code block: its language and its text.
    fence: Option<(String, String)>,
    table: Option<table::MarkdownTable>,
    link: Option<(String, usize)>,
}

/// Prefix of rows: quotes, the indent of lists, and a mark for the next row only.
#[derive(Default)]
struct RowPrefix {
    quotes: usize,
    indents: Vec<usize>,
    mark: Option<String>,
}

impl RowPrefix {
    fn indent(&self) -> usize {
        self.indents.iter().sum()
    }
}

impl<'a> MarkdownRenderer<'a> {
    fn new(columns: usize, code: &'a mut Highlighter) -> Self {
        Self {
            columns,
            code,
            units: vec![Vec::new()],
            spans: Vec::new(),
            styles: Vec::new(),
            lead: RowPrefix::default(),
            lists: Vec::new(),
            fence: None,
            table: None,
            link: None,
        }
    }

    fn finished(mut self) -> Vec<Vec<StyledRow>> {
        self.paragraph();
        self.units.retain(|rows| !rows.is_empty());
        self.units
    }

    fn take(&mut self, events: &[Event<'_>]) {
        for event in events {
            match event {
                Event::Start(tag) => self.start(tag),
                Event::End(tag) => self.end(*tag),
                Event::Text(text) => self.text(text),
                Event::Code(text) => self.push(&clean(text), CODE),
                Event::InlineMath(text) | Event::DisplayMath(text) => self.push(&clean(text), CODE),
                Event::Html(text) | Event::InlineHtml(text) => self.html(text),
                Event::SoftBreak => self.push(" ", Style::new()),
                Event::HardBreak => self.paragraph(),
                Event::Rule => {
                    let line = "─".repeat(self.room().min(40));
                    self.row(StyledRow::from(Span::styled(line, DIM)));
                }
                Event::TaskListMarker(done) => {
                    self.push(if *done { "[x] " } else { "[ ] " }, Style::new());
                }
                Event::FootnoteReference(name) => self.push(&clean(name), DIM),
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                let marks = "#".repeat(depth(*level));
                self.styles.push(HEADING);
                self.push(&format!("{marks} "), HEADING);
            }
            Tag::BlockQuote(_) => {
                self.paragraph();
                self.lead.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.paragraph();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => clean(language),
                    CodeBlockKind::Indented => String::new(),
                };
                self.fence = Some((language, String::new()));
            }
            Tag::List(from) => {
                self.paragraph();
                self.lists.push(*from);
            }
            Tag::Item => self.item(),
            Tag::Table(alignments) => self.table = Some(table::MarkdownTable::new(alignments)),
            Tag::Emphasis => self.styles.push(ITALIC),
            Tag::Strong => self.styles.push(BOLD),
            Tag::Strikethrough => self.styles.push(STRUCK),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((clean(dest_url), self.spans.len()));
                self.styles.push(LINK);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.paragraph(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.paragraph();
            }
            TagEnd::BlockQuote(_) => {
                self.paragraph();
                self.lead.quotes = self.lead.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::List(_) => {
                self.paragraph();
                self.lists.pop();
            }
            TagEnd::Item => {
                self.paragraph();
                self.lead.mark = None;
                self.lead.indents.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let room = self.room();
                    table.rows(room).into_iter().for_each(|row| self.row(row));
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.link_end(),
            _ => {}
        }
    }

    fn item(&mut self) {
        self.paragraph();
        if self.lists.len() == 1 && self.lead.quotes == 0 {
            self.units.push(Vec::new());
        }
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            Some(None) | None => "• ".to_owned(),
        };
        self.lead.indents.push(width(&mark));
        self.lead.mark = Some(mark);
    }

    fn text(&mut self, text: &str) {
        match &mut self.fence {
            Some((_, code)) => code.push_str(text),
            None => {
                let text = clean(text);
                self.push(&text, Style::new());
            }
        }
    }

    fn html(&mut self, text: &str) {
        for line in text.lines() {
            self.push(&clean(line), DIM);
            if text.contains('\n') {
                self.paragraph();
            }
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        let outer = self.styles.iter().fold(Style::new(), |all, one| all.patch(*one));
        self.spans.push(Span::styled(text.to_owned(), outer.patch(style)));
    }

    /// Adds the target of a link, unless its text shows it already.
    fn link_end(&mut self) {
        self.styles.pop();
        let Some((target, from)) = self.link.take() else { return };
        let said: String = self.spans.iter().skip(from).map(|span| &*span.content).collect();
        if said != target && !target.is_empty() && !target.ends_with(&said) {
            self.push(&format!(" ({target})"), DIM);
        }
    }

    /// Ends the current paragraph, if there is one.
    fn paragraph(&mut self) {
        if self.spans.is_empty() || self.table.is_some() {
            return;
        }
        let line = StyledRow::from(std::mem::take(&mut self.spans));
        let room = self.room();
        for row in wrapped(&line, room, 0) {
            self.row(row);
        }
    }

    fn code_block(&mut self) {
        let Some((language, code)) = self.fence.take() else { return };
        let own_units = self.lists.is_empty() && self.lead.quotes == 0;
        let room = self.room().saturating_sub(2).max(1);
        for spans in self.code.lines(&language, &code) {
            if own_units {
                self.units.push(Vec::new());
            }
            for row in chopped(&StyledRow::from(spans), room) {
                let indented = std::iter::once(Span::raw("  ")).chain(row.spans);
                self.row(StyledRow::from(indented.collect::<Vec<_>>()));
            }
        }
    }

    fn room(&self) -> usize {
        self.columns.saturating_sub(self.lead.indent() + self.lead.quotes * 2).max(8)
    }

    /// Adds a row with the current prefix.
    fn row(&mut self, row: StyledRow) {
        let mut spans = Vec::new();
        if self.lead.quotes > 0 {
            spans.push(Span::styled("│ ".repeat(self.lead.quotes), DIM));
        }
        let mark = self.lead.mark.take().unwrap_or_default();
        let pad = self.lead.indent().saturating_sub(width(&mark));
        if pad > 0 {
            spans.push(Span::raw(" ".repeat(pad)));
        }
        if !mark.is_empty() {
            spans.push(Span::styled(mark, DIM));
        }
        spans.extend(row.spans);
        if let Some(unit) = self.units.last_mut() {
            unit.push(StyledRow::from(spans));
        }
    }
}

fn depth(level: HeadingLevel) -> usize {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

#[cfg(test)]
mod tests;
