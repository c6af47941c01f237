//! Determines the alphabet of a letter, for alphabets with letters that look alike.
//!
//! Must never: call a word mixed that is written in one alphabet.

/// Returns two alphabets whose letters one word mixes; None if it has only one.
pub(super) fn mixed(word: &str) -> Option<(&'static str, &'static str)> {
    let mut seen = None;
    for script in word.chars().filter_map(script) {
        match seen {
            Some(first) if first != script => return Some((first, script)),
            Some(_) | None => seen = Some(script),
        }
    }
    None
}

/// Returns the alphabet of a letter; None if its letters look unlike those of the others.
fn script(c: char) -> Option<&'static str> {
    match c {
        'a'..='z'
        | 'A'..='Z'
        | '\u{c0}'..='\u{d6}'
        | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{2af}'
        | '\u{1e00}'..='\u{1eff}' => Some("Latin"),
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some("Greek"),
        '\u{400}'..='\u{52f}'
        | '\u{1c80}'..='\u{1c8f}'
        | '\u{2de0}'..='\u{2dff}'
        | '\u{a640}'..='\u{a69f}' => Some("Cyrillic"),
        '\u{531}'..='\u{588}' => Some("Armenian"),
        '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' => Some("Cherokee"),
        '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' => Some("full-width"),
        '\u{1d400}'..='\u{1d7ff}' => Some("mathematical"),
        _ => None,
    }
}
