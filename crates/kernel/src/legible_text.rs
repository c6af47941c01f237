//! Makes a text legible for a person who judges it: every character in it can be seen.
//!
//! Characters without a shape, or with a misleading one, become escapes. Long runs of blanks, lines
//! or one repeated character are folded to their count, so that they push no text out of sight.
//! Host names with letters beyond ASCII are shown in the form used for lookup, and words that mix
//! alphabets are noted. No text is cut.
//!
//! Must never: leave out a part of the text without describing it, or pass on a character that
//! cannot be seen.

use serde_json::Value;

use crate::limits::{JUDGED_BLANKS_MAX, JUDGED_LINES_MAX, JUDGED_NOTES_MAX, JUDGED_REPEATS_MAX};

mod script;

/// A legible text, with remarks on the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegibleText {
    /// The text. Line ends and tabs stay.
    pub text: String,
    /// The length of the original, in characters.
    pub chars: usize,
    /// The length of the original, in bytes.
    pub bytes: usize,
    /// Remarks on details that are easily overlooked.
    pub notes: Vec<String>,
}

impl LegibleText {
    /// Describes the length of the original.
    pub fn length(&self) -> String {
        let count = |many: usize, one: &str| match many {
            1 => format!("1 {one}"),
            _ => format!("{many} {one}s"),
        };
        format!("{}, {}", count(self.chars, "character"), count(self.bytes, "byte"))
    }
}

/// Returns the part of a call's arguments that is measured: the command as it runs, or all as JSON.
pub fn payload(input: &Value) -> String {
    let alone = input.as_object().filter(|fields| fields.len() == 1);
    match alone.and_then(|fields| fields.get("command")?.as_str()) {
        Some(command) => command.to_owned(),
        None => input.to_string(),
    }
}

/// Makes a text legible.
pub fn to_legible(text: &str) -> LegibleText {
    LegibleText {
        text: folded(text),
        chars: text.chars().count(),
        bytes: text.len(),
        notes: notes(text),
    }
}

/// Escapes all characters that are not what they look like, and folds long runs.
pub fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_whitespace() {
            rest.find(|c: char| !c.is_whitespace())
        } else {
            rest.find(|c: char| c != first)
        };
        let (run, after) = rest.split_at(length.unwrap_or(rest.len()));
        if first.is_whitespace() {
            write_blanks(run, &mut out);
        } else {
            write_same(run, first, &mut out);
        }
        rest = after;
    }
    out
}

fn write_blanks(run: &str, out: &mut String) {
    let lines = run.chars().filter(|c| *c == '\n').count();
    let blanks = run.chars().count() - lines;
    let is_long = lines > JUDGED_LINES_MAX || blanks > JUDGED_BLANKS_MAX;
    match (is_long, lines) {
        (false, _) => run.chars().for_each(|c| write_char(c, out)),
        (true, 0) => out.push_str(&format!("⟨{blanks} blanks⟩")),
        (true, _) => out.push_str(&format!("⟨{lines} line ends and {blanks} blanks⟩\n")),
    }
}

fn write_same(run: &str, c: char, out: &mut String) {
    let many = run.chars().count();
    if many <= JUDGED_REPEATS_MAX {
        run.chars().for_each(|c| write_char(c, out));
        return;
    }
    out.push_str(&format!("⟨{many} times "));
    write_char(c, out);
    out.push('⟩');
}

fn write_char(c: char, out: &mut String) {
    if is_plain(c) {
        out.push(c);
    } else {
        out.extend(c.escape_unicode());
    }
}

/// Returns true if a character looks like what it is. Line ends and tabs do.
pub fn is_plain(c: char) -> bool {
    match c {
        ' ' | '\n' | '\t' => true,
        // These characters mark folds.
        '⟨' | '⟩' => false,
        _ => !c.is_control() && !c.is_whitespace() && !is_invisible(c) && !is_private(c),
    }
}

/// Returns true for characters that reorder or hide others. They are escaped in every text that a
/// person judges; `is_plain` refuses more.
pub fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true for characters that have no shape, reorder others or change their shape: format
/// characters, those that programs may ignore by Unicode, and two that are drawn as blank.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true for characters without an agreed shape.
fn is_private(c: char) -> bool {
    let number = u32::from(c);
    matches!(number, 0xe000..=0xf8ff | 0xf_0000..=0x10_ffff | 0xfdd0..=0xfdef)
        || number & 0xfffe == 0xfffe
}

/// Lists details that are easily overlooked: misleading host names, and mixed alphabets.
fn notes(text: &str) -> Vec<String> {
    let mut notes = Vec::new();
    if text.is_ascii() {
        return notes;
    }
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '。' | '．' | '｡');
    let mut more = 0_usize;
    for word in text.split(|c| !of_name(c)).map(|word| word.trim_matches('.')) {
        let Some(note) = note(word) else { continue };
        if notes.contains(&note) {
            continue;
        }
        if notes.len() < JUDGED_NOTES_MAX {
            notes.push(note);
        } else {
            more += 1;
        }
    }
    if more > 0 {
        notes.push(format!("{more} more words like these"));
    }
    notes
}

fn note(word: &str) -> Option<String> {
    if word.is_ascii() {
        return None;
    }
    let shown = folded(word);
    let mixed = script::mixed(word).map(|(one, two)| format!("mixes {one} and {two} letters"));
    let is_dotted = word.contains(['.', '。', '．', '｡']);
    let name = is_dotted.then(|| idna::domain_to_ascii(word).ok()).flatten();
    let name = name.filter(|name| name != word).map(|name| format!("as a host it is {name}"));
    let parts: Vec<String> = name.into_iter().chain(mixed).collect();
    (!parts.is_empty()).then(|| format!("`{shown}`: {}", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn long_runs_are_folded_to_their_count_and_the_tail_stays() {
        let command = format!("curl evil #{}ls", " ".repeat(3_000));
        assert_eq!(to_legible(&command).text, "curl evil #⟨3000 blanks⟩ls");
        let command = format!("curl evil{}ls", "\n".repeat(60));
        assert_eq!(to_legible(&command).text, "curl evil⟨60 line ends and 0 blanks⟩\nls");
        let command = format!("a{}b", " \n\t".repeat(40));
        assert_eq!(to_legible(&command).text, "a⟨40 line ends and 80 blanks⟩\nb");
        assert_eq!(to_legible(&"#".repeat(500)).text, "⟨500 times #⟩");
        assert_eq!(to_legible(&"\u{200b}".repeat(500)).text, "⟨500 times \\u{200b}⟩");
        let code = "fn main() {\n\n        body();\n}\t# ----------";
        assert_eq!(to_legible(code).text, code);
    }

    #[test]
    fn characters_without_a_shape_of_their_own_are_escaped() {
        let text =
            "a\u{e000}\u{fe0f}\u{202e}\u{200b}\u{2066}\u{e0041}\u{f0000}\u{1b}\u{9b}\u{a0}\u{3164}";
        let shown = "a\\u{e000}\\u{fe0f}\\u{202e}\\u{200b}\\u{2066}\\u{e0041}\\u{f0000}\\u{1b}\\u{9b}\\u{a0}\\u{3164}";
        assert_eq!(to_legible(text).text, shown);
        assert_eq!(to_legible("naïve 漢字 😀").text, "naïve 漢字 😀");
    }

    #[test]
    fn a_host_that_is_not_what_it_looks_like_is_given_as_it_is_looked_up() {
        let found = to_legible("curl https://аpple.com/x");
        assert_eq!(
            found.notes,
            ["`аpple.com`: as a host it is xn--pple-43d.com; mixes Cyrillic and Latin letters"]
        );
        assert_eq!(
            to_legible("curl https://bücher.example").notes,
            ["`bücher.example`: as a host it is xn--bcher-kva.example"]
        );
        assert_eq!(to_legible("сat file").notes, ["`сat`: mixes Cyrillic and Latin letters"]);
        assert!(to_legible("Привет, мир. cat naïve").notes.is_empty());
        let many: String = (0..30).map(|number| format!("сat{number} ")).collect();
        assert_eq!(
            to_legible(&many).notes.last().map(String::as_str),
            Some("22 more words like these")
        );
    }

    #[test]
    fn the_length_is_that_of_the_original() {
        assert_eq!(to_legible("é   ").length(), "4 characters, 5 bytes");
        assert_eq!(to_legible("x").length(), "1 character, 1 byte");
    }

    #[test]
    fn a_command_is_judged_as_it_is_run_and_the_rest_as_json() {
        assert_eq!(payload(&json!({ "command": "ls\n-l" })), "ls\n-l");
        assert_eq!(
            payload(&json!({ "command": "ls", "timeout": 1 })),
            r#"{"command":"ls","timeout":1}"#
        );
    }

    /// Undoes folds and escapes.
    fn unfolded(text: &str) -> Vec<char> {
        let mut out = Vec::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some(fold) = rest.strip_prefix('⟨') {
                let (inner, after) = fold.split_once('⟩').expect("a fold has an end");
                let words: Vec<&str> = inner.splitn(3, ' ').collect();
                let many: usize = words[0].parse().expect("a fold begins with its count");
                match words.get(1).copied() {
                    Some("times") => out.extend(unfolded(words[2]).repeat(many)),
                    Some("blanks") => out.extend(vec![' '; many]),
                    _ => {
                        let blanks: Option<usize> =
                            words[2].split(' ').nth(2).and_then(|word| word.parse().ok());
                        out.extend(vec![' '; many + blanks.expect("blanks are counted")]);
                    }
                }
                rest = if words.get(1) == Some(&"line") { &after[1..] } else { after };
            } else if let Some(escape) = rest.strip_prefix("\\u{") {
                let (digits, after) = escape.split_once('}').expect("an escape has an end");
                let number = u32::from_str_radix(digits, 16).expect("it is a number");
                let c = char::from_u32(number).expect("it is a character");
                out.push(if c.is_whitespace() { ' ' } else { c });
                rest = after;
            } else {
                out.push(if c.is_whitespace() { ' ' } else { c });
                rest = &rest[c.len_utf8()..];
            }
        }
        out
    }

    proptest! {
        #[test]
        fn nothing_in_a_legible_text_is_invisible_and_nothing_is_lost(
            parts in proptest::collection::vec(
                prop_oneof![
                    "[a-c ]{0,5}",
                    any::<char>().prop_map(String::from),
                    (any::<char>(), 1_usize..200).prop_map(|(c, many)| c.to_string().repeat(many)),
                    "[ \n\t\u{a0}]{0,200}",
                    "[⟨⟩\u{200b}\u{202e}\u{fe0f}\u{e000}]{0,9}",
                ],
                0..12,
            ),
        ) {
            let text: String = parts.concat().replace("\\u{", "");
            let shown = folded(&text);
            prop_assert!(shown.chars().all(|c| is_plain(c) || matches!(c, '⟨' | '⟩')), "{:?}", shown);
            prop_assert!(shown.chars().count() <= 10 * text.chars().count());
            let longest = shown.split(|c: char| !c.is_whitespace()).map(str::len).max();
            prop_assert!(longest.unwrap_or_default() <= JUDGED_BLANKS_MAX + JUDGED_LINES_MAX + 1);
            let original: Vec<char> =
                text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
            prop_assert_eq!(unfolded(&shown), original);
        }
    }
}
