//! Scans one written word: its literal text or its expansion, and the code that it executes.
//!
//! One pass with an explicit stack; cost grows linearly with the length.
//!
//! Must never: call a word literal if any shell would expand it.

use super::ShellWord;

/// A word, with the code that its expansion executes.
#[derive(Debug, Default)]
pub(super) struct ScannedWord {
    text: String,
    dynamic: bool,
    /// The text of each command or backquote substitution.
    pub(super) code: Vec<String>,
    /// The reason why it is not understood; None if it is.
    pub(super) opaque: Option<&'static str>,
}

impl ScannedWord {
    pub(super) fn word(&self) -> ShellWord {
        if self.dynamic {
            ShellWord::Dynamic(self.text.clone())
        } else {
            ShellWord::Literal(self.text.clone())
        }
    }
}

/// The treatment of quotes and patterns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word of a command.
    Word,
    /// The body of a heredoc: quotes are text, there are no patterns.
    Body,
}

/// Scans one word or body.
pub(super) fn scan(written: &str, kind: Kind) -> ScannedWord {
    let mut scanner = Scanner { rest: written, out: ScannedWord::default() };
    match kind {
        Kind::Word => {
            // A home directory, at the start or in an assignment; its text stays as written.
            let tilde = ["=~", ":~"].iter().any(|mark| written.contains(mark));
            scanner.out.dynamic = tilde || written.starts_with('~');
            scanner.unquoted();
        }
        Kind::Body => scanner.quoted(None),
    }
    scanner.out
}

struct Scanner<'a> {
    rest: &'a str,
    out: ScannedWord,
}

impl<'a> Scanner<'a> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn take(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn unclosed(&mut self) {
        self.out.opaque = Some("a quote or substitution is not closed");
        self.out.dynamic = true;
        self.rest = "";
    }

    fn unquoted(&mut self) {
        // The unquoted characters, to detect a list or range in braces.
        let mut shape = String::new();
        while let Some(c) = self.next() {
            match c {
                '\'' => match self.rest.find('\'') {
                    Some(end) => {
                        self.out.text.push_str(&self.rest[..end]);
                        self.rest = &self.rest[end + 1..];
                    }
                    None => self.unclosed(),
                },
                '"' => self.quoted(Some('"')),
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(c) => self.out.text.push(c),
                    None => self.out.text.push('\\'),
                },
                '$' if self.take("'") => self.ansi(),
                '$' if self.take("\"") => self.quoted(Some('"')),
                '$' => self.dollar(),
                '`' => self.backquoted(),
                '*' | '?' | '[' => {
                    self.out.dynamic |=
                        !(c == '[' && self.out.text.is_empty() && self.rest.is_empty());
                    self.out.text.push(c);
                }
                c => {
                    if "{,.}".contains(c) {
                        shape.push(c);
                    }
                    self.out.text.push(c);
                }
            }
        }
        let braces = shape.split_once('{').and_then(|(_, inside)| inside.rsplit_once('}'));
        self.out.dynamic |=
            braces.is_some_and(|(inside, _)| inside.contains(',') || inside.contains(".."));
    }

    /// Scans up to the closing quote; a heredoc has none.
    fn quoted(&mut self, close: Option<char>) {
        while let Some(c) = self.next() {
            match c {
                '\\' => match self.rest.chars().next() {
                    Some(c @ ('$' | '`' | '\\')) => {
                        self.rest = &self.rest[1..];
                        self.out.text.push(c);
                    }
                    Some('"') if close.is_some() => {
                        self.rest = &self.rest[1..];
                        self.out.text.push('"');
                    }
                    Some('\n') => self.rest = &self.rest[1..],
                    _ => self.out.text.push('\\'),
                },
                '$' => self.dollar(),
                '`' => self.backquoted(),
                c if Some(c) == close => return,
                c => self.out.text.push(c),
            }
        }
        if close.is_some() {
            self.unclosed();
        }
    }

    /// Scans an expansion after `$`. The text stays as written; code inside is collected.
    fn dollar(&mut self) {
        match self.rest.chars().next() {
            Some('(') => self.parenthesized(),
            Some('{') => self.braced('}'),
            Some('[') => self.braced(']'),
            // The rest of a longer name is plain text.
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c) => {
                self.out.dynamic = true;
                self.out.text.extend(['$', c]);
                self.rest = &self.rest[1..];
            }
            _ => self.out.text.push('$'),
        }
    }

    /// Scans `$(code)` or `$((sum))`.
    fn parenthesized(&mut self) {
        self.out.dynamic = true;
        let Some(end) = end_of(self.rest, ')') else {
            return self.unclosed();
        };
        let inside = &self.rest[1..end];
        self.out.text.push('$');
        self.out.text.push_str(&self.rest[..=end]);
        self.rest = &self.rest[end + 1..];
        let sum = inside.strip_prefix('(').and_then(|inside| inside.strip_suffix(')'));
        match sum.filter(|sum| is_balanced(sum)) {
            // Arithmetic can contain substitutions, even hidden ones in an array index.
            Some(sum) => {
                self.collect(sum);
                if sum.contains("$(") || sum.contains('`') {
                    self.out.opaque = Some("a sum over what a command prints");
                }
            }
            None => self.out.code.push(inside.to_owned()),
        }
    }

    /// Scans `${…}` or `$[…]`.
    fn braced(&mut self, close: char) {
        self.out.dynamic = true;
        let Some(end) = end_of(self.rest, close) else {
            return self.unclosed();
        };
        let inside = &self.rest[1..end];
        self.out.text.push('$');
        self.out.text.push_str(&self.rest[..=end]);
        self.rest = &self.rest[end + 1..];
        if inside.starts_with('!') || inside.ends_with("@P") {
            self.out.opaque = Some("a variable that names or holds another expansion");
        }
        if close == ']' && (inside.contains("$(") || inside.contains('`')) {
            self.out.opaque = Some("a sum over what a command prints");
        }
        self.collect(inside);
    }

    fn collect(&mut self, inside: &str) {
        if !inside.contains(['$', '`']) {
            return;
        }
        let inner = scan(inside, Kind::Body);
        self.out.code.extend(inner.code);
        self.out.opaque = self.out.opaque.or(inner.opaque);
    }

    fn backquoted(&mut self) {
        self.out.dynamic = true;
        let mut code = String::new();
        loop {
            match self.next() {
                None => return self.unclosed(),
                Some('`') => break,
                Some('\\') => match self.next() {
                    Some(c @ ('`' | '\\' | '$')) => code.push(c),
                    Some(c) => code.extend(['\\', c]),
                    None => return self.unclosed(),
                },
                Some(c) => code.push(c),
            }
        }
        self.out.text.push_str(&format!("$({code})"));
        self.out.code.push(code);
    }

    /// Scans `$'…'`: escapes as in C.
    fn ansi(&mut self) {
        loop {
            match self.next() {
                None => return self.unclosed(),
                Some('\'') => return,
                Some('\\') => self.ansi_escape(),
                Some(c) => self.out.text.push(c),
            }
        }
    }

    fn ansi_escape(&mut self) {
        let Some(c) = self.next() else { return self.unclosed() };
        let known = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '?' => c,
            'x' => return self.number("", 16, 2),
            'u' => return self.number("", 16, 4),
            'U' => return self.number("", 16, 8),
            '0'..='7' => return self.number(c.encode_utf8(&mut [0; 4]), 8, 3),
            _ => {
                self.out.dynamic = true;
                c
            }
        };
        self.out.text.push(known);
    }

    fn number(&mut self, start: &str, radix: u32, length_max: usize) {
        let mut digits = start.to_owned();
        while let Some(c) = self.rest.chars().next().filter(|c| c.is_digit(radix)) {
            if digits.len() == length_max {
                break;
            }
            digits.push(c);
            self.rest = &self.rest[1..];
        }
        match u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32) {
            Some(c) if c != '\0' && c.is_ascii() => self.out.text.push(c),
            _ => self.out.dynamic = true,
        }
    }
}

/// True if no parenthesis closes before it opens: `$((a); (b))` is not a sum but two commands.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return false,
            ')' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

/// Returns the end of the opening bracket's group. Skips quotes, nested brackets and heredocs.
fn end_of(text: &str, close: char) -> Option<usize> {
    let mut stack = vec![close];
    let mut here: Vec<String> = Vec::new();
    let mut at = 1;
    while let Some(c) = text[at..].chars().next() {
        let inside = stack.last().copied();
        let after_dollar = text[..at].ends_with('$');
        match c {
            '\'' if inside == Some('\'') => drop(stack.pop()),
            _ if inside == Some('\'') => {}
            '\\' => at += text[at + 1..].chars().next().map_or(0, char::len_utf8),
            '"' if inside == Some('"') => drop(stack.pop()),
            '"' => stack.push('"'),
            '\'' if inside != Some('"') => stack.push('\''),
            '(' if inside != Some('"') || after_dollar => stack.push(')'),
            '{' if after_dollar => stack.push('}'),
            ')' | '}' | ']' if inside == Some(c) => {
                stack.pop();
                if stack.is_empty() {
                    return Some(at);
                }
            }
            '<' if inside == Some(')') && text[at..].starts_with("<<") => {
                at += 1;
                here.extend(delimiter(&text[at + 1..]));
            }
            '\n' if !here.is_empty() => {
                at += body_length(&text[at + 1..], &here)?;
                here.clear();
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    None
}

/// Returns the delimiter of a heredoc, without quotes.
fn delimiter(after: &str) -> Option<String> {
    let after = after.strip_prefix('-').unwrap_or(after).trim_start_matches([' ', '\t']);
    let end =
        after.find(|c: char| c.is_whitespace() || ";|&)<>".contains(c)).unwrap_or(after.len());
    let word: String = after[..end].chars().filter(|c| !"'\"\\".contains(*c)).collect();
    (!word.is_empty()).then_some(word)
}

/// Returns the length of these heredocs' bodies, in bytes.
fn body_length(text: &str, delimiters: &[String]) -> Option<usize> {
    let mut wanted = delimiters.iter();
    let mut delimiter = wanted.next()?;
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if line.trim_end_matches('\n').trim_start_matches('\t') == delimiter.as_str() {
            match wanted.next() {
                Some(next) => delimiter = next,
                None => return Some(length),
            }
        }
    }
    None
}
