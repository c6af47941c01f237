//! Each form of a value, in whole texts, in pieces and beside cuts.

use proptest::prelude::*;

use super::*;

const VALUE: &str = "s3cr3t/Key+å \"q\"";

fn redactor(values: &[(&str, &str)]) -> Redactor {
    Redactor::new(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())))
}

fn whole(values: &[(&str, &str)], text: &str) -> (String, u64) {
    let Redacted { text, count } = redactor(values).text(text, Ends::Whole);
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
            match at <= group.len() {
                true => out.push(char::from(alphabet[(bits >> (18 - 6 * at) & 63) as usize])),
                false if is_padded => out.push('='),
                false => {}
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
    let hide = |text: &str| redactor(&[("key", "tok-1234567890")]).text(text, Ends::Whole).text;
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
    assert_eq!(spaced.text("x one two…", Ends::Whole).text, "x [secret key]…");
    // Away from a cut it is a text like any other.
    assert_eq!(hide("a tok-12 b"), "a tok-12 b");
}

#[test]
fn a_text_that_was_cut_at_its_end_has_an_edge_there() {
    let redactor = redactor(&[("key", "tok-1234567890")]);
    assert_eq!(redactor.text("a tok-12", Ends::Cut).text, "a [secret key]");
    assert_eq!(redactor.text("567890 a", Ends::Cut).text, "[secret key] a");
    assert_eq!(redactor.text("a tok-12", Ends::Whole).text, "a tok-12");
}

#[test]
fn what_cannot_become_a_value_is_not_held_back() {
    let redactor = redactor(&[("key", "tok-1234567890")]);
    let mut stream = redactor.stream();
    assert_eq!(stream.push(b"Hello, "), b"Hello, ");
    assert_eq!(stream.push(b"the key is tok-12"), b"the key is ");
    assert_eq!(stream.push(b"34567890!"), b"[secret key]!");
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
        let Redacted { text: shown, count } = redactor.text(&text, Ends::Whole);
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
        let Redacted { text: shown, count } = redactor.text(&text, Ends::Whole);
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
        let shown = redactor.text(&text, Ends::Whole).text;
        prop_assert!(!shown.contains("abcabc"), "{}", shown);
        let (pieces, _) = in_pieces(&redactor, text.as_bytes(), &sizes);
        prop_assert!(!pieces.contains("abcabc"), "{}", pieces);
    }
}
