//! Takes out of a screen what differs from one recording to the next: ids, durations and the path
//! of the temporary home.
//!
//! Must never: change a text that is equal each time.

use crate::pictures::ansi::StyledText;

/// The characters of an id behind its prefix.
const ID_CHARS: usize = 26;
/// The prefixes of the ids that a chat shows.
const PREFIXES: [&str; 4] = ["apr_", "chat_", "ses_", "run_"];

/// Writes `~` for the home and `apr_…` for an id, and leaves out durations.
pub(super) fn mask(rows: &mut [Vec<StyledText>], home: &str) {
    for row in rows {
        let mut column = 0;
        for piece in row {
            piece.text = masked(&piece.text, home);
            piece.column = column;
            column += piece.text.chars().count();
        }
    }
}

fn masked(text: &str, home: &str) -> String {
    let text = short_ids(text.replace(home, "~"));
    let words: Vec<&str> = text.split(' ').filter(|word| !is_duration(word)).collect();
    words.join(" ")
}

fn short_ids(mut text: String) -> String {
    for prefix in PREFIXES {
        let mut from = 0;
        while let Some(at) = text[from..].find(prefix) {
            let start = from + at + prefix.len();
            let bytes = id_bytes(&text[start..]);
            if bytes > 0 {
                text.replace_range(start..start + bytes, "…");
            }
            from = start;
        }
    }
    text
}

/// The bytes of a whole id, or of a short one: `…` and its last characters.
fn id_bytes(text: &str) -> usize {
    let is_of_id = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    let dots = if text.starts_with('…') { '…'.len_utf8() } else { 0 };
    let chars = text.bytes().skip(dots).take_while(is_of_id).count();
    if chars == ID_CHARS || dots > 0 { dots + chars } else { 0 }
}

/// True for `0.3s`, which stands behind a call.
fn is_duration(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = word.strip_suffix('s').and_then(|number| number.split_once('.'));
    number.is_some_and(|(whole, tenths)| is_number(whole) && is_number(tenths) && tenths.len() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::ansi::rows;

    #[track_caller]
    fn check(screen: &str, expected: &[(usize, &str)]) {
        let mut rows = rows(screen).unwrap_or_else(|failure| panic!("{failure}"));
        mask(&mut rows, "/tmp/x/home");
        let found: Vec<(usize, &str)> =
            rows.iter().flatten().map(|piece| (piece.column, piece.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_home_is_a_tilde() {
        check("coder in /tmp/x/home/shop", &[(0, "coder in ~/shop")]);
    }

    #[test]
    fn ids_are_short_and_the_rest_of_the_row_follows() {
        check(
            "May it? apr_0ktp9esez81cm9xqff5wshen5k\u{1b}[1m y",
            &[(0, "May it? apr_…"), (13, " y")],
        );
        check("structured · chat_…6avhcc", &[(0, "structured · chat_…")]);
    }

    #[test]
    fn words_that_look_like_an_id_stay() {
        check("chat_history, ses_ and apr_0ktp", &[(0, "chat_history, ses_ and apr_0ktp")]);
    }

    #[test]
    fn durations_are_left_out_and_other_numbers_stay() {
        check("bash sh test.sh\u{1b}[90m 0.3s  ok", &[(0, "bash sh test.sh"), (15, "  ok")]);
        check("1.50 2.0.1s .1s 10s", &[(0, "1.50 2.0.1s .1s 10s")]);
    }
}
