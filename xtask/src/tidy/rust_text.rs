//! Tells code, comments and literals of a Rust file apart, well enough for the rules here.
//!
//! Both views keep every line where it was; what belongs to another view is blank. So a rule about
//! code never trips over a word in a test fixture, nor a rule about comments over a string.
//!
//! Must never: try to be a parser; what needs one belongs to clippy.

pub(crate) struct RustText {
    pub(crate) code: String,
    pub(crate) comments: String,
}

impl RustText {
    pub(crate) fn split(text: &str) -> RustText {
        let chars: Vec<char> = text.chars().collect();
        let mut split = RustText { code: String::new(), comments: String::new() };
        let mut start = 0;
        while start < chars.len() {
            let (kind, end) = piece(&chars, start);
            for &char in &chars[start..end] {
                split.push(kind, char);
            }
            start = end;
        }
        split
    }

    fn push(&mut self, kind: Kind, char: char) {
        let (in_code, in_comments) = match (char, kind) {
            ('\n', _) => ('\n', '\n'),
            (_, Kind::Code) => (char, ' '),
            (_, Kind::Comment) => (' ', char),
            (_, Kind::Literal) => (' ', ' '),
        };
        self.code.push(in_code);
        self.comments.push(in_comments);
    }
}

/// Returns the identifiers and keywords of a line, each with its byte offset.
pub(crate) fn words(line: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, char) in line.char_indices().chain([(line.len(), ' ')]) {
        match (is_of_word(char), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push((from, &line[from..at]));
                start = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    words
}

/// Returns the names that follow one of the keywords on a line, as in `struct Name`.
pub(crate) fn names_after<'line>(
    line: &'line str,
    keywords: &[&str],
) -> Vec<(&'line str, &'line str)> {
    words(line)
        .windows(2)
        .filter_map(|pair| {
            let [(at, keyword), (name_at, name)] = *pair else { return None };
            let between = &line[at + keyword.len()..name_at];
            (keywords.contains(&keyword) && between.trim().is_empty()).then_some((keyword, name))
        })
        .collect()
}

pub(crate) fn is_of_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

#[derive(Clone, Copy)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// Returns the kind of the piece that starts at `start`, and its end (always later).
fn piece(chars: &[char], start: usize) -> (Kind, usize) {
    let next = chars.get(start + 1).copied();
    match chars[start] {
        '/' if next == Some('/') => (Kind::Comment, end_of_line(chars, start)),
        '/' if next == Some('*') => (Kind::Comment, end_of_block_comment(chars, start)),
        '"' => (Kind::Literal, end_of_quoted(chars, start, '"')),
        '\'' if is_char_literal(chars, start) => (Kind::Literal, end_of_quoted(chars, start, '\'')),
        char if is_of_word(char) => {
            let end = end_of_word(chars, start);
            match end_of_raw_string(chars, start, end) {
                Some(end) => (Kind::Literal, end),
                None => (Kind::Code, end),
            }
        }
        _ => (Kind::Code, start + 1),
    }
}

fn end_of_line(chars: &[char], start: usize) -> usize {
    chars[start..]
        .iter()
        .position(|&char| char == '\n')
        .map_or(chars.len(), |length| start + length)
}

fn end_of_block_comment(chars: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn end_of_quoted(chars: &[char], start: usize, quote: char) -> usize {
    let mut at = start + 1;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            char if char == quote => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// Returns true for `'a'` and `'\n'`; `'a` alone is a lifetime or a label.
fn is_char_literal(chars: &[char], start: usize) -> bool {
    match chars.get(start + 1) {
        Some('\\') => true,
        Some(_) => chars.get(start + 2) == Some(&'\''),
        None => false,
    }
}

fn end_of_word(chars: &[char], start: usize) -> usize {
    let length = chars[start..].iter().take_while(|&&char| is_of_word(char)).count();
    start + length
}

/// Returns the end of a raw string that the word from `start` to `end` opens (`r"…"`, `br#"…"#`).
fn end_of_raw_string(chars: &[char], start: usize, end: usize) -> Option<usize> {
    let prefix: String = chars[start..end].iter().collect();
    if !["r", "br", "cr"].contains(&prefix.as_str()) {
        return None;
    }
    let hashes = chars[end..].iter().take_while(|&&char| char == '#').count();
    let open = end + hashes;
    if chars.get(open) != Some(&'"') {
        return None;
    }
    let closes = |at: usize| {
        chars[at] == '"'
            && chars[at + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes
    };
    let close = (open + 1..chars.len()).find(|&at| closes(at));
    Some(close.map_or(chars.len(), |at| at + 1 + hashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, code: &str, comments: &str) {
        let split = RustText::split(text);
        assert_eq!((split.code.as_str(), split.comments.as_str()), (code, comments));
    }

    #[test]
    fn comments_go_to_their_own_view() {
        check("a // b", "a     ", "  // b");
        check("a /* b /* c */ d */ e", "a                   e", "  /* b /* c */ d */  ");
    }

    #[test]
    fn literals_are_in_neither_view() {
        check("f(\"// x\")", "f(      )", "         ");
        check("f(\"\\\"\") + g", "f(    ) + g", "           ");
        check("r#\"a \"b\" \"# c", "            c", "             ");
        check("'\"' 'x' &'a T", "        &'a T", "             ");
    }

    #[test]
    fn a_raw_name_is_code() {
        check("r#type: for\"\"", "r#type: for  ", "             ");
    }

    #[test]
    fn lines_stay_where_they_were() {
        check("a \"\nb\n\" c", "a  \n \n  c", "   \n \n   ");
    }

    #[test]
    fn an_unfinished_literal_ends_with_the_file() {
        check("a \"b\\", "a    ", "     ");
        check("/* b", "    ", "/* b");
    }

    #[test]
    fn names_follow_their_keywords() {
        assert_eq!(
            names_after(
                "pub(crate) struct One; enum $two; mod  three;",
                &["struct", "enum", "mod"]
            ),
            [("struct", "One"), ("mod", "three")]
        );
    }
}
