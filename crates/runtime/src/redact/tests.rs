//! Each form of a value, in whole texts, in pieces and beside cuts.

use proptest::prelude::*;

use super::*;

const VALUE: &str = "s3cr3t/Key+å \"q\"";

fn redactor(values: &[(&str, &str)]) -> Redactor {
    Redactor::new(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())))
}

fn whole(values: &[(&str, &str)], text: &str) -> (String, u64) {
    let RedactedText { text, count } = redactor(values).text(text, TextEdges::Whole);
    (text, count)
}

fn in_pieces(redactor: &Redactor, text: &[u8], sizes: &[usize]) -> (String, u64) {
    let mut stream = redactor.stream();
    let mut out = Vec::new();
    let mut rest = text;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*size).min(rest.len()));
        out.extend(stream.push(piece));
        rest = after;
    }
    out.extend(stream.finish());
    (String::from_utf8_lossy(&out).into_owned(), stream.count())
}

fn encoded(bytes: &[u8], alphabet: &[u8; 64], is_padded: bool) -> String {
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let mut bits = 0_u32;
        (0..3).for_each(|at| bits = bits << 8 | u32::from(*group.get(at).unwrap_or(&0)));
        for at in 0..4 {
            if at <= group.len() {
                out.push(char::from(alphabet[(bits >> (18 - 6 * at) & 63) as usize]));
            } else if is_padded {
                out.push('=');
            }
        }
    }
    out
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[test]
fn a_plain_value_is_replaced_by_its_name_and_counted() {
    let (text, count) = whole(&[("key", VALUE)], &format!("a {VALUE}, {VALUE}."));
    assert_eq!((text.as_str(), count), ("a [secret key], [secret key].", 2));
    assert_eq!(whole(&[("key", VALUE)], "nothing here"), ("nothing here".to_owned(), 0));
    assert_eq!(whole(&[], VALUE), (VALUE.to_owned(), 0));
}

#[test]
fn base64_is_found_at_every_place_of_a_longer_text_with_and_without_padding() {
    for alphabet in [STANDARD, URL_SAFE] {
        for before in 0..4 {
            for after in 0..4 {
                for is_padded in [true, false] {
                    let text = [vec![b'<'; before], VALUE.into(), vec![b'>'; after]].concat();
                    let text = encoded(&text, alphabet, is_padded);
                    let (shown, count) = whole(&[("key", VALUE)], &format!("({text})"));
                    assert_eq!(count, 1, "{before} {after}: {shown}");
                    // What stays are the characters of the neighbours alone.
                    let left = shown.replace("[secret key]", "").len() - 2;
                    assert!(left <= before * 4 / 3 + after * 4 / 3 + 3, "{text}: {shown}");
                }
            }
        }
    }
}

#[test]
fn no_character_of_base64_that_carries_bits_of_a_value_is_left() {
    // The value at the second place shares its first character with `<`, and its last with `>`.
    let text = encoded(b"<abcdefgh>", STANDARD, true);
    assert_eq!(text, "PGFiY2RlZmdoPg==");
    assert_eq!(whole(&[("key", "abcdefgh")], &text).0, "P[secret key]Pg==");
    let text = encoded(b"abcdefgh>", STANDARD, true);
    assert_eq!(whole(&[("key", "abcdefgh")], &text).0, "[secret key]+");
}

#[test]
fn percent_encoding_is_found_whole_or_in_part_and_in_any_case() {
    for text in [
        "s3cr3t%2FKey%2B%C3%A5%20%22q%22",
        "s3cr3t%2fKey%2b%c3%a5%20%22q%22",
        "s3cr3t/Key+%C3%A5%20\"q\"",
        "%73%33%63%72%33%74%2F%4B%65%79%2B%C3%A5%20%22%71%22",
    ] {
        let (shown, count) = whole(&[("key", VALUE)], &format!("?k={text}&x=100%"));
        assert_eq!((shown.as_str(), count), ("?k=[secret key]&x=100%", 1));
    }
    assert_eq!(whole(&[("key", "one two three")], "q=one+two+three").0, "q=[secret key]");
}

#[test]
fn hexadecimal_digits_are_found_in_any_case_and_over_lines() {
    let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    for text in [hex.clone(), hex.to_uppercase(), format!("{}\n{}", &hex[..9], &hex[9..])] {
        assert_eq!(whole(&[("key", VALUE)], &format!("<{text}>")).0, "<[secret key]>");
    }
}

#[test]
fn escaped_forms_are_found() {
    for text in [
        serde_json::to_string(VALUE).unwrap(),
        r#""s3cr3t\/Key+å \"q\"""#.to_owned(),
        r#""s3cr3t/Key\u002b\u00e5 \u0022q\u0022""#.to_owned(),
        r#""\x733cr3t/Key+\xc3\xa5 \"q\"""#.to_owned(),
    ] {
        assert_eq!(whole(&[("key", VALUE)], &text).0, "\"[secret key]\"", "{text}");
    }
    assert_eq!(whole(&[("key", "smile 😀 here")], r"smile \ud83d\ude00 here").0, "[secret key]");
}

#[test]
fn a_value_broken_over_lines_is_found() {
    let value = "abcdefghijklmnopqrstuvwxyz";
    assert_eq!(
        whole(&[("key", value)], "x abcdefghij\nklmnopqrst\nuvwxyz y").0,
        "x [secret key] y"
    );
    let text = encoded(format!("user:{}", value.repeat(4)).as_bytes(), STANDARD, true);
    let wrapped: Vec<&str> = vec![&text[..76], &text[76..]];
    let shown = whole(&[("key", &value.repeat(4))], &wrapped.join("\n")).0;
    assert!(shown.starts_with("dXNlcj") && shown.len() < 30, "{shown}");
}

#[test]
fn a_long_line_of_a_value_of_several_is_hidden_alone() {
    let value = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nend\n-----END KEY-----";
    assert_eq!(
        whole(&[("key", value)], "line: MIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----").0,
        "line: [secret key]\n-----END KEY-----"
    );
    assert_eq!(whole(&[("key", value)], value).0, "[secret key]");
}

#[test]
fn values_that_overlap_are_hidden_together() {
    let values = [("one", "abcdefgh"), ("two", "efghijkl")];
    assert_eq!(whole(&values, "<abcdefghijkl>"), ("<[secret one]>".to_owned(), 1));
}

#[test]
fn of_two_names_for_one_value_the_first_counts() {
    assert_eq!(whole(&[("one", "abcdefgh"), ("two", "abcdefgh")], "abcdefgh").0, "[secret one]");
}

#[test]
fn a_value_that_is_too_short_is_not_looked_for() {
    assert_eq!(whole(&[("key", "abcde")], "abcde"), ("abcde".to_owned(), 0));
    assert_eq!(whole(&[("key", "abcdef")], "abcdef").0, "[secret key]");
}

#[test]
fn half_a_value_beside_a_cut_is_hidden() {
    let hide =
        |text: &str| redactor(&[("key", "tok-1234567890")]).text(text, TextEdges::Whole).text;
    let mark = "… 12 characters left out …";
    assert_eq!(
        hide(&format!("a tok-12\n{mark}\n7890 b")),
        format!("a [secret key]\n{mark}\n[secret key] b")
    );
    // Three characters tell too little to be worth a hole in the text.
    assert_eq!(hide(&format!("a tok\n{mark}\n890 b")), format!("a tok\n{mark}\n890 b"));
    assert_eq!(hide("found: tok-123…"), "found: [secret key]…");
    assert_eq!(hide("746f6b2d31…"), "[secret key]…");
    assert_eq!(hide("k=%74ok%2D1…"), "k=[secret key]…");
    assert_eq!(hide("k=%74ok%2D%3…"), "k=[secret key]…");
    let text = encoded(b"tok-1234567890", STANDARD, true);
    assert_eq!(hide(&format!("{}…", &text[..7])), "[secret key]…");
    assert_eq!(hide(&format!("…{}", &text[9..18])), "…[secret key]");
    let spaced = redactor(&[("key", "one two three four")]);
    assert_eq!(spaced.text("x one two…", TextEdges::Whole).text, "x [secret key]…");
    // Away from a cut it is a text like any other.
    assert_eq!(hide("a tok-12 b"), "a tok-12 b");
}

#[test]
fn a_text_that_was_cut_at_its_end_has_an_edge_there() {
    let redactor = redactor(&[("key", "tok-1234567890")]);
    assert_eq!(redactor.text("a tok-12", TextEdges::Cut).text, "a [secret key]");
    assert_eq!(redactor.text("567890 a", TextEdges::Cut).text, "[secret key] a");
    assert_eq!(redactor.text("a tok-12", TextEdges::Whole).text, "a tok-12");
}

#[test]
fn what_cannot_become_a_value_is_not_held_back() {
    let redactor = redactor(&[("key", "tok-123456789x")]);
    let mut stream = redactor.stream();
    assert_eq!(stream.push(b"Hm! "), b"Hm! ");
    assert_eq!(stream.push(b"the key is tok-12"), b"the key is ");
    assert_eq!(stream.push(b"3456789x!"), b"[secret key]!");
    assert_eq!(stream.push(b" tok"), b" ");
    assert_eq!(stream.push(b"en"), b"token");
    assert_eq!(stream.push(b" tok"), b" ");
    assert_eq!(stream.finish(), b"tok");
    assert_eq!(stream.count(), 1);
}

#[test]
fn a_stream_of_one_letter_does_not_pile_up() {
    let redactor = redactor(&[("key", "aaaaaaaa")]);
    let mut stream = redactor.stream();
    for _ in 0..1_000 {
        stream.push(b"aaaaaaaaaa");
        assert!(stream.held.len() < 100, "{}", stream.held.len());
    }
    stream.finish();
}

#[test]
fn every_way_to_cut_a_text_in_two_gives_the_same() {
    let redactor = redactor(&[("key", VALUE), ("two", "efghijkl")]);
    let hex: String = VALUE.bytes().map(|byte| format!("{byte:02X}")).collect();
    let forms = [
        VALUE.to_owned(),
        encoded(format!("<{VALUE}>").as_bytes(), STANDARD, true),
        encoded(format!("<<{VALUE}").as_bytes(), URL_SAFE, false),
        "s3cr3t%2FKey%2B%C3%A5%20%22q%22".to_owned(),
        serde_json::to_string(VALUE).unwrap(),
        hex,
    ];
    for form in forms {
        let text = format!("one {form} two");
        let RedactedText { text: shown, count } = redactor.text(&text, TextEdges::Whole);
        assert_eq!(count, 1, "{text}");
        for at in 1..text.len() {
            let (pieces, count) = in_pieces(&redactor, text.as_bytes(), &[at, usize::MAX]);
            assert_eq!(count, 1, "{text} at {at}");
            // A border just before a value in base64 leaves the character before it.
            let is_left = pieces.len() == shown.len() + 1 && at == shown.find('[').unwrap() + 1;
            assert!(pieces == shown || is_left, "{text} at {at}: {pieces}");
        }
    }
}

proptest! {
    #[test]
    fn pieces_give_what_the_whole_gives(
        text in "[ab%67\n ]{0,80}",
        sizes in proptest::collection::vec(1_usize..9, 1..6),
    ) {
        let redactor = redactor(&[("one", "abaabb"), ("two", "bbabab"), ("three", "a b6aab7abba")]);
        let RedactedText { text: shown, count } = redactor.text(&text, TextEdges::Whole);
        prop_assert_eq!(in_pieces(&redactor, text.as_bytes(), &sizes), (shown, count));
    }

    #[test]
    fn no_value_is_left_in_any_text(
        before in "[a-c%\\\\ ]{0,9}",
        after in "[a-c%\\\\ ]{0,9}",
        sizes in proptest::collection::vec(1_usize..9, 1..6),
    ) {
        let redactor = redactor(&[("one", "abcabc")]);
        let text = format!("{before}abcabc{after}");
        let shown = redactor.text(&text, TextEdges::Whole).text;
        prop_assert!(!shown.contains("abcabc"), "{}", shown);
        let (pieces, _) = in_pieces(&redactor, text.as_bytes(), &sizes);
        prop_assert!(!pieces.contains("abcabc"), "{}", pieces);
    }
}

/// A name, and a function that shows bytes as a program would.
type Encoder = (&'static str, fn(&[u8]) -> String);

const ENCODERS: [Encoder; 21] = [
    ("hex with colons", |bytes| joined(bytes, ":", |byte| format!("{byte:02x}"))),
    ("hex with blanks", |bytes| joined(bytes, " ", |byte| format!("{byte:02X}"))),
    ("hex with dashes", |bytes| joined(bytes, "-", |byte| format!("{byte:02X}"))),
    ("array of C", |bytes| joined(bytes, ", ", |byte| format!("0x{byte:02x}"))),
    ("escapes in hex", |bytes| joined(bytes, "", |byte| format!("\\x{byte:02x}"))),
    ("escapes in octal", |bytes| joined(bytes, "", |byte| format!("\\{byte:03o}"))),
    ("escapes of Unicode", |bytes| joined(bytes, "", |byte| format!("\\u{byte:04x}"))),
    ("escapes in braces", |bytes| joined(bytes, "", |byte| format!("\\u{{{byte:x}}}"))),
    ("entities", |bytes| joined(bytes, "", |byte| format!("&#{byte};"))),
    ("entities in hex", |bytes| joined(bytes, "", |byte| format!("&#x{byte:X};"))),
    ("list of numbers", |bytes| format!("[{}]", joined(bytes, ", ", |byte| byte.to_string()))),
    ("xxd", |bytes| dump(bytes, ":", 2, true)),
    ("hexdump -C", |bytes| dump(bytes, " ", 1, true)),
    ("od -tx1", |bytes| dump(bytes, "", 1, false)),
    ("hexdump", swapped),
    ("od", |bytes| words(bytes, |word| format!("{word:06o}"))),
    ("od -b", |bytes| lines(bytes, |line| joined(line, " ", |byte| format!("{byte:03o}")))),
    ("od -c", |bytes| {
        lines(bytes, |line| joined(line, "", |byte| format!("   {}", char::from(byte))))
    }),
    ("base32", |bytes| base32(bytes)),
    ("UTF-16", |bytes| joined(bytes, "", |byte| format!("{}\0", char::from(byte)))),
    ("backwards", |bytes| bytes.iter().rev().map(|byte| char::from(*byte)).collect()),
];

fn joined(bytes: &[u8], between: &str, shown: impl Fn(u8) -> String) -> String {
    bytes.iter().map(|byte| shown(*byte)).collect::<Vec<_>>().join(between)
}

/// Formats sixteen bytes per line after their offset.
fn lines(bytes: &[u8], shown: impl Fn(&[u8]) -> String) -> String {
    let lines = bytes.chunks(16).enumerate();
    lines.map(|(at, line)| format!("{:07o} {}\n", at * 16, shown(line))).collect()
}

/// Formats a dump of `xxd` or `hexdump -C`: hexadecimal groups, with the letters beside them.
fn dump(bytes: &[u8], behind_offset: &str, group: usize, has_letters: bool) -> String {
    let mut out = String::new();
    for (at, line) in bytes.chunks(16).enumerate() {
        let groups: Vec<String> = line
            .chunks(group)
            .map(|group| joined(group, "", |byte| format!("{byte:02x}")))
            .collect();
        let letters: String = line.iter().map(|byte| char::from(*byte)).collect();
        let letters = match (has_letters, behind_offset) {
            (false, _) => String::new(),
            (true, ":") => format!("  {letters}"),
            (true, _) => format!("  |{letters}|"),
        };
        out.push_str(&format!("{:08x}{behind_offset} {}{letters}\n", at * 16, groups.join(" ")));
    }
    out
}

fn words(bytes: &[u8], shown: impl Fn(u16) -> String) -> String {
    lines(bytes, |line| {
        let words =
            line.chunks(2).map(|pair| u16::from_le_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
        words.map(&shown).collect::<Vec<_>>().join(" ")
    })
}

fn swapped(bytes: &[u8]) -> String {
    words(bytes, |word| format!("{word:04x}"))
}

fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bits: Vec<u8> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)).collect();
    bits.chunks(5)
        .map(|group| {
            let value =
                (0..5).fold(0, |value, at| value << 1 | group.get(at).copied().unwrap_or(0));
            char::from(ALPHABET[usize::from(value)])
        })
        .collect()
}

/// Returns true if three consecutive letters of a value are still readable.
fn shows(text: &str, value: &str) -> bool {
    let hex = |part: &[u8]| joined(part, "", |byte| format!("{byte:02x}"));
    let digits: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    value.as_bytes().windows(4).any(|part| {
        let plain = std::str::from_utf8(part).expect("it is ASCII");
        text.contains(plain) || digits.to_lowercase().contains(&hex(part))
    })
}

#[test]
fn what_programs_make_of_a_value_to_show_its_bytes_is_found() {
    let value = "ghp_0123456789abcdefXYZw";
    let redactor = redactor(&[("key", value)]);
    for (name, encode) in ENCODERS {
        for around in ["", "user=", "a longer text before it: "] {
            let text = format!("before\n{}\nafter", encode(format!("{around}{value}").as_bytes()));
            let shown = redactor.text(&text, TextEdges::Whole);
            assert!(shown.count > 0, "{name}: {text}");
            assert!(!shows(&shown.text, value), "{name}: {}", shown.text);
            assert!(
                shown.text.starts_with("before\n") && shown.text.ends_with("after"),
                "{name}: {}",
                shown.text
            );
            let (pieces, count) = in_pieces(&redactor, text.as_bytes(), &[7]);
            assert!(count > 0 && !shows(&pieces, value), "{name} in pieces: {pieces}");
        }
    }
}

#[test]
fn base64_of_a_value_in_utf_16_is_found() {
    let value = "tok-1234567890";
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        let bytes: Vec<u8> = value.encode_utf16().flat_map(order).collect();
        let text = encoded(&bytes, STANDARD, true);
        let left = whole(&[("key", value)], &text).0;
        assert_eq!(left.trim_end_matches('='), "[secret key]");
        let hex = joined(&bytes, "", |byte| format!("{byte:02x}"));
        assert_eq!(whole(&[("key", value)], &hex).0, "[secret key]");
    }
}

#[test]
fn numbers_and_dumps_without_a_value_stay_as_they_are() {
    let values = [("key", "tok-1234567890"), ("two", "ghp_0123456789abcdef")];
    for text in [
        dump(b"nothing to hide in this dump of bytes", ":", 2, true),
        swapped(b"nothing to hide in this dump of bytes"),
        "127.0.0.1 10 200 255 0 16 and 0x7f, 0x10".to_owned(),
        "00000010: not a dump\n00000020 nor this\n".to_owned(),
        "&amp; &#65; &nbsp; & \\101 \\x41 \\u{41}".to_owned(),
    ] {
        assert_eq!(whole(&values, &text), (text.clone(), 0));
        let (pieces, _) = in_pieces(&redactor(&values), text.as_bytes(), &[3, 1, 8]);
        assert_eq!(pieces, text);
    }
}

proptest! {
    #[test]
    fn no_encoding_of_a_random_value_can_be_read(
        value in "[a-zA-Z0-9_./+-]{16,48}",
        before in "[a-z =]{0,20}",
        at in 0..ENCODERS.len(),
    ) {
        let letters = value.bytes().filter(u8::is_ascii_alphanumeric).count();
        prop_assume!(letters >= 14);
        let redactor = redactor(&[("key", &value)]);
        let (name, encode) = ENCODERS[at];
        let text = encode(format!("{before}{value}").as_bytes());
        let shown = redactor.text(&text, TextEdges::Whole);
        prop_assert!(shown.count > 0, "{}: {}", name, text);
        prop_assert!(!shows(&shown.text, &value) || before.len() > 3 && shows(&before, &value), "{}: {}", name, shown.text);
    }
}
