//! Syntax highlighting: a syntax assigns scopes, a short table maps them to sixteen colors.
//!
//! A growing block is not parsed again from its start.
//!
//! Must never: lose or change a character of the code.

use std::sync::LazyLock;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;
use syntect::parsing::{ParseState, Scope, ScopeStack, ScopeStackOp, SyntaxReference, SyntaxSet};

use super::style::clean;
use crate::limits::HIGHLIGHT_LINE_BYTES_MAX;

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// Prefixes of scopes and their styles; the innermost listed scope counts.
static STYLES: LazyLock<Vec<(Scope, Style)>> = LazyLock::new(|| {
    let of = Style::new;
    let listed = [
        ("comment", of().fg(Color::DarkGray)),
        ("string", of().fg(Color::Green)),
        ("constant.numeric", of().fg(Color::Magenta)),
        ("constant.language", of().fg(Color::Magenta)),
        ("constant.character.escape", of().fg(Color::Magenta)),
        ("keyword.operator", of()),
        ("keyword", of().fg(Color::Blue)),
        ("storage", of().fg(Color::Blue)),
        ("entity.name.function", of().fg(Color::Yellow)),
        ("support.function", of().fg(Color::Yellow)),
        ("entity.name.tag", of().fg(Color::Blue)),
        ("entity.name", of().fg(Color::Cyan)),
        ("entity.other.attribute-name", of().fg(Color::Cyan)),
        ("support.type", of().fg(Color::Cyan)),
        ("support.class", of().fg(Color::Cyan)),
        ("markup.inserted", of().fg(Color::Green)),
        ("markup.deleted", of().fg(Color::Red)),
        ("meta.diff.range", of().fg(Color::Cyan)),
        ("meta.diff.header", of().add_modifier(Modifier::BOLD)),
    ];
    let known =
        listed.into_iter().filter_map(|(name, style)| Some((Scope::new(name).ok()?, style)));
    known.collect()
});

/// Highlighter of a block of code that may grow.
#[derive(Default)]
pub(crate) struct Highlighter {
    language: String,
    lines: Vec<(String, Vec<Span<'static>>)>,
    state: Option<(ParseState, ScopeStack)>,
}

impl Highlighter {
    /// Returns the styled lines of a block; reuses the lines in common with the last call.
    pub(crate) fn lines(&mut self, language: &str, code: &str) -> Vec<Vec<Span<'static>>> {
        let wanted: Vec<&str> = code.lines().collect();
        let grows = self.language == language
            && self.lines.len() <= wanted.len()
            && self.lines.iter().zip(&wanted).all(|((known, _), line)| known == line);
        if !grows {
            let syntax = syntax(language);
            self.state = syntax.map(|syntax| (ParseState::new(syntax), ScopeStack::new()));
            language.clone_into(&mut self.language);
            self.lines.clear();
        }
        // The last line may grow; it is highlighted, but the parser state is not kept.
        let whole = wanted.len().saturating_sub(1);
        for line in wanted.iter().take(whole).skip(self.lines.len()) {
            let spans = spans(line, &mut self.state);
            self.lines.push(((*line).to_owned(), spans));
        }
        let known = self.lines.iter().map(|(_, spans)| spans.clone());
        let last = wanted.last().filter(|_| self.lines.len() < wanted.len());
        let last = last.map(|line| spans(line, &mut self.state.clone()));
        known.chain(last).collect()
    }
}

/// Returns the syntax for the language named after a fence; None if it is unknown or plain text.
fn syntax(language: &str) -> Option<&'static SyntaxReference> {
    let word = language.split([' ', ',', '{']).next().unwrap_or_default().to_ascii_lowercase();
    let word = match word.as_str() {
        "" | "text" | "txt" | "plain" | "console" => return None,
        "typescript" | "ts" | "tsx" | "jsx" => "js",
        "shell" | "zsh" | "shell-session" => "sh",
        "toml" | "ini" => "java properties",
        "jsonc" | "json5" => "json",
        other => other,
    };
    SYNTAXES.find_syntax_by_token(word)
}

fn spans(line: &str, state: &mut Option<(ParseState, ScopeStack)>) -> Vec<Span<'static>> {
    let plain = || vec![Span::raw(clean(line))];
    let Some((parse, stack)) = state else { return plain() };
    if line.len() > HIGHLIGHT_LINE_BYTES_MAX {
        return plain();
    }
    let with_end = format!("{line}\n");
    let Ok(changes) = parse.parse_line(&with_end, &SYNTAXES) else { return plain() };
    let mut spans = Vec::new();
    let mut from = 0;
    for (at, change) in changes {
        push(&mut spans, line.get(from..at.min(line.len())), stack);
        from = at.min(line.len());
        apply(&change, stack);
    }
    push(&mut spans, line.get(from..), stack);
    spans
}

/// Applies a change to the stack. A failure leaves the stack as it is, and only a color may be wrong.
fn apply(change: &ScopeStackOp, stack: &mut ScopeStack) {
    stack.apply(change).ok();
}

fn push(spans: &mut Vec<Span<'static>>, text: Option<&str>, stack: &ScopeStack) {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return };
    let style = style(stack);
    match spans.last_mut() {
        Some(last) if last.style == style => last.content.to_mut().push_str(&clean(text)),
        Some(_) | None => spans.push(Span::styled(clean(text), style)),
    }
}

fn style(stack: &ScopeStack) -> Style {
    let scopes = stack.as_slice().iter().rev();
    let of = |scope: &Scope| STYLES.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
    scopes.filter_map(of).map(|(_, style)| *style).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[Vec<Span<'static>>]) -> String {
        let one = |line: &Vec<Span<'static>>| line.iter().map(|span| &*span.content).collect();
        lines.iter().map(one).collect::<Vec<String>>().join("\n")
    }

    #[test]
    fn rust_has_colors_and_stays_as_written() {
        let code = "fn main() {\n    // hi\n    let x = \"ä\";\n}";
        let lines = Highlighter::default().lines("rust", code);
        assert_eq!(text(&lines), code);
        let comment = lines[1].iter().find(|span| span.content.contains("hi")).unwrap();
        assert_eq!(comment.style.fg, Some(Color::DarkGray));
        assert!(lines[0].iter().any(|span| span.style.fg == Some(Color::Blue)));
    }

    #[test]
    fn a_block_that_grows_is_colored_like_one_that_is_whole() {
        let code = "/* a\nb */ let x = 1;\nlet y = 2;";
        let whole = Highlighter::default().lines("rust", code);
        let mut growing = Highlighter::default();
        for end in 1..=code.len() {
            growing.lines("rust", &code[..end]);
        }
        assert_eq!(growing.lines("rust", code), whole);
    }

    #[test]
    fn a_language_that_nobody_knows_has_no_color() {
        let lines = Highlighter::default().lines("klingon", "x = 1");
        assert_eq!(lines, vec![vec![Span::raw("x = 1")]]);
    }
}
