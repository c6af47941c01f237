//! Converts Markdown for other clients: plain text, Slack's mrkdwn, Telegram's HTML.
//!
//! Must never: drop a word of the text, or let a character of the text become markup.

use agentry_agentfile::manifest::channels::MarkdownFlavor;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::table::TextTable;

/// Returns the text without Markdown markup.
pub(super) fn plain(text: &str) -> String {
    marked_up(text, MarkdownFlavor::None)
}

/// Converts the text to another markup.
pub(super) fn marked_up(text: &str, markdown: MarkdownFlavor) -> String {
    let mut writer = MarkupWriter::new(markdown);
    for event in Parser::new_ext(text, options()) {
        writer.event(event);
    }
    writer.out.concat().trim().to_owned()
}

/// Returns the text with each table as a block of code.
pub(super) fn tables_as_code(text: &str) -> String {
    let mut out = String::new();
    let mut done = 0;
    let mut open: Option<(usize, MarkupWriter)> = None;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        let is_end = event == Event::End(TagEnd::Table);
        if let Event::Start(Tag::Table(_)) = event {
            open = Some((range.start, MarkupWriter::new(MarkdownFlavor::Discord)));
        }
        let Some((start, writer)) = &mut open else { continue };
        writer.event(event);
        if is_end {
            let line = text[..*start].rfind('\n').map_or(0, |newline| newline + 1);
            // A table in a quote or a list stays: its code would need a prefix on each line.
            if text[line..*start].trim().is_empty() {
                out.push_str(&text[done..*start]);
                out.push_str(writer.out.concat().trim());
                done = text[..range.end].trim_end().len();
            }
            open = None;
        }
    }
    out.push_str(&text[done..]);
    out
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The opening and the closing delimiter of a span.
#[derive(Clone, Copy)]
struct DelimiterPair {
    open: &'static str,
    close: &'static str,
}

/// The delimiters of a span, in each markup that has some.
#[derive(Clone, Copy)]
struct SpanMarkup {
    slack: DelimiterPair,
    telegram: DelimiterPair,
}

const fn pair(open: &'static str, close: &'static str) -> DelimiterPair {
    DelimiterPair { open, close }
}

const BOLD: SpanMarkup = SpanMarkup { slack: pair("*", "*"), telegram: pair("<b>", "</b>") };
const ITALIC: SpanMarkup = SpanMarkup { slack: pair("_", "_"), telegram: pair("<i>", "</i>") };
const STRUCK: SpanMarkup = SpanMarkup { slack: pair("~", "~"), telegram: pair("<s>", "</s>") };
const CODE: SpanMarkup = SpanMarkup { slack: pair("`", "`"), telegram: pair("<code>", "</code>") };

struct MarkupWriter {
    markdown: MarkdownFlavor,
    /// The text, and above it the open quotes and links.
    out: Vec<String>,
    /// The open lists, with the number of the next item.
    lists: Vec<Option<u64>>,
    /// True if the current item has only its marker so far.
    is_new_item: bool,
    code: bool,
    addresses: Vec<String>,
    table: Option<TextTable>,
}

impl MarkupWriter {
    fn new(markdown: MarkdownFlavor) -> Self {
        Self {
            markdown,
            out: vec![String::new()],
            lists: Vec::new(),
            is_new_item: false,
            code: false,
            addresses: Vec::new(),
            table: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text),
            Event::Code(code) => {
                let DelimiterPair { open, close } = self.marks(CODE);
                self.put(open);
                self.text(&code);
                self.put(close);
            }
            Event::SoftBreak | Event::HardBreak => self.put("\n"),
            Event::Rule => {
                self.block();
                self.put("---");
            }
            Event::TaskListMarker(done) => self.put(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.block();
                self.mark(BOLD, DelimiterSide::Open);
            }
            Tag::Strong => self.mark(BOLD, DelimiterSide::Open),
            Tag::Emphasis => self.mark(ITALIC, DelimiterSide::Open),
            Tag::Strikethrough => self.mark(STRUCK, DelimiterSide::Open),
            Tag::CodeBlock(kind) => self.start_code(&kind),
            Tag::BlockQuote(_) => {
                self.block();
                self.out.push(String::new());
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.block();
                }
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.addresses.push(dest_url.into_string());
                self.out.push(String::new());
            }
            Tag::Table(_) => {
                self.block();
                self.table = Some(TextTable::default());
            }
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(TextTable::row),
            Tag::TableCell => self.out.push(String::new()),
            Tag::Paragraph
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => self.block(),
            Tag::Superscript | Tag::Subscript => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) | TagEnd::Strong => {
                self.mark(BOLD, DelimiterSide::Close);
            }
            TagEnd::Emphasis => self.mark(ITALIC, DelimiterSide::Close),
            TagEnd::Strikethrough => self.mark(STRUCK, DelimiterSide::Close),
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::BlockQuote(_) => self.end_quote(),
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::Table => self.end_table(),
            TagEnd::TableCell => {
                let cell = self.pop();
                self.table.iter_mut().for_each(|table| table.cell(&cell));
            }
            TagEnd::Paragraph
            | TagEnd::Item
            | TagEnd::HtmlBlock
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// Begins a block below the existing text.
    fn block(&mut self) {
        if std::mem::take(&mut self.is_new_item) {
            return;
        }
        let wanted = if self.lists.is_empty() { "\n\n" } else { "\n" };
        let now = self.now();
        if !now.is_empty() {
            now.truncate(now.trim_end_matches('\n').len());
            now.push_str(wanted);
        }
    }

    fn start_item(&mut self) {
        let now = self.now();
        if !now.is_empty() && !now.ends_with('\n') {
            now.push('\n');
        }
        let depth = self.lists.len().saturating_sub(1);
        let sign = match (self.lists.last_mut(), self.markdown) {
            (Some(Some(number)), _) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            (_, MarkdownFlavor::None) => "- ".to_owned(),
            (_, _) => "• ".to_owned(),
        };
        self.put(&format!("{}{sign}", "  ".repeat(depth)));
        self.is_new_item = true;
    }

    fn start_code(&mut self, kind: &CodeBlockKind<'_>) {
        self.block();
        let language = match kind {
            CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        match self.markdown {
            MarkdownFlavor::SlackMrkdwn => self.put("```\n"),
            MarkdownFlavor::TelegramHtml if language.is_empty() => self.put("<pre><code>"),
            MarkdownFlavor::TelegramHtml => {
                let language = escaped(language).replace('"', "&quot;");
                self.put(&format!("<pre><code class=\"language-{language}\">"));
            }
            MarkdownFlavor::Standard | MarkdownFlavor::Discord | MarkdownFlavor::None => {}
        }
        self.code = true;
    }

    fn end_code(&mut self) {
        self.code = false;
        let now = self.now();
        now.truncate(now.trim_end_matches('\n').len());
        match self.markdown {
            MarkdownFlavor::SlackMrkdwn => self.put("\n```"),
            MarkdownFlavor::TelegramHtml => self.put("</code></pre>"),
            MarkdownFlavor::Standard | MarkdownFlavor::Discord | MarkdownFlavor::None => {}
        }
    }

    fn end_quote(&mut self) {
        let quote = self.pop();
        let quote = quote.trim();
        match self.markdown {
            // Telegram does not support nested quotes.
            MarkdownFlavor::TelegramHtml if self.out.len() > 1 => self.put(quote),
            MarkdownFlavor::TelegramHtml => self.put(&format!("<blockquote>{quote}</blockquote>")),
            MarkdownFlavor::Standard
            | MarkdownFlavor::Discord
            | MarkdownFlavor::SlackMrkdwn
            | MarkdownFlavor::None => {
                let lines: Vec<String> = quote.lines().map(|line| format!("> {line}")).collect();
                self.put(&lines.join("\n"));
            }
        }
    }

    fn end_link(&mut self) {
        let shown = self.pop();
        let address = self.addresses.pop().unwrap_or_default();
        let is_same = shown == escaped_for(self.markdown, &address) || shown.is_empty();
        if self.table.is_some() {
            return self.put(&with_address(&shown, &address, is_same));
        }
        let written = match self.markdown {
            MarkdownFlavor::SlackMrkdwn => {
                let address = escaped(&address).replace('|', "%7C");
                if is_same { format!("<{address}>") } else { format!("<{address}|{shown}>") }
            }
            MarkdownFlavor::TelegramHtml => {
                let shown = if is_same { escaped(&address) } else { shown };
                let address = escaped(&address).replace('"', "&quot;");
                format!("<a href=\"{address}\">{shown}</a>")
            }
            MarkdownFlavor::Standard | MarkdownFlavor::Discord | MarkdownFlavor::None => {
                with_address(&shown, &address, is_same)
            }
        };
        self.put(&written);
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let written = match self.markdown {
            MarkdownFlavor::None => table.plain(),
            MarkdownFlavor::SlackMrkdwn => format!("```\n{}\n```", escaped(&table.aligned())),
            MarkdownFlavor::TelegramHtml => format!("<pre>{}</pre>", escaped(&table.aligned())),
            MarkdownFlavor::Standard | MarkdownFlavor::Discord => {
                let rows = table.aligned();
                let fence = if rows.contains("```") { "````" } else { "```" };
                format!("{fence}\n{rows}\n{fence}")
            }
        };
        self.put(&written);
    }

    /// Writes an opening or closing delimiter, if the markup has one.
    fn mark(&mut self, span: SpanMarkup, side: DelimiterSide) {
        let DelimiterPair { open, close } = self.marks(span);
        self.put(match side {
            DelimiterSide::Open => open,
            DelimiterSide::Close => close,
        });
    }

    fn marks(&self, span: SpanMarkup) -> DelimiterPair {
        match self.markdown {
            MarkdownFlavor::SlackMrkdwn if self.table.is_none() => span.slack,
            MarkdownFlavor::TelegramHtml if self.table.is_none() => span.telegram,
            MarkdownFlavor::SlackMrkdwn | MarkdownFlavor::TelegramHtml => pair("", ""),
            MarkdownFlavor::Standard | MarkdownFlavor::Discord | MarkdownFlavor::None => {
                pair("", "")
            }
        }
    }

    fn text(&mut self, text: &str) {
        // Text in a table is escaped with the table.
        if self.table.is_some() {
            self.put(text);
        } else {
            self.put(&escaped_for(self.markdown, text));
        }
    }

    fn put(&mut self, text: &str) {
        self.is_new_item = false;
        self.now().push_str(text);
    }

    fn now(&mut self) -> &mut String {
        self.out.last_mut().expect("the text itself is never taken")
    }

    /// Returns the text written since the last opening.
    fn pop(&mut self) -> String {
        if self.out.len() > 1 { self.out.pop().unwrap_or_default() } else { String::new() }
    }
}

#[derive(Clone, Copy)]
enum DelimiterSide {
    Open,
    Close,
}

fn with_address(shown: &str, address: &str, is_same: bool) -> String {
    if !is_same && !address.is_empty() {
        format!("{shown} ({address})")
    } else if shown.is_empty() {
        address.to_owned()
    } else {
        shown.to_owned()
    }
}

fn escaped_for(markdown: MarkdownFlavor, text: &str) -> String {
    match markdown {
        MarkdownFlavor::SlackMrkdwn | MarkdownFlavor::TelegramHtml => escaped(text),
        MarkdownFlavor::Standard | MarkdownFlavor::Discord | MarkdownFlavor::None => {
            text.to_owned()
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
