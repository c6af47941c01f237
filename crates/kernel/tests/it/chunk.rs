//! An answer in pieces: what is cut where, and that nothing is lost or too long.

use agentry_agentfile::manifest::channels::MarkdownFlavor;
use agentry_kernel::chunk::{chunks, split};
use proptest::prelude::*;
use pulldown_cmark::{Event, Parser, Tag};

#[track_caller]
fn check(text: &str, limit: usize, expected: &[&str]) {
    let texts: Vec<String> = split(text, limit).into_iter().map(|chunk| chunk.text).collect();
    assert_eq!(texts, expected);
}

#[test]
fn what_fits_is_one_piece() {
    check("  Hello, world.\n", 80, &["  Hello, world."]);
    check("1234567890", 10, &["1234567890"]);
    check(" \n\n ", 10, &[]);
    check("", 10, &[]);
}

#[test]
fn a_paragraph_comes_before_a_sentence_and_a_sentence_before_a_word() {
    check("One two.\n\nThree. Four five", 20, &["One two.", "Three. Four five"]);
    check("One two. Three four five", 20, &["One two.", "Three four five"]);
    check("One \"two.\" Three four five", 20, &["One \"two.\"", "Three four five"]);
    check("one two three four five", 14, &["one two three", "four five"]);
    check("- one two\n- three four\n- five", 24, &["- one two\n- three four", "- five"]);
    check("これは。それは。あれは", 5, &["これは。", "それは。", "あれは"]);
}

#[test]
fn a_cut_does_not_make_a_sign_begin_a_line() {
    check("is 3 > 2 now", 5, &["is", "3 > 2", "now"]);
    check("we are in 2024. Yes", 12, &["we are", "in 2024. Yes"]);
}

#[test]
fn a_word_longer_than_the_limit_is_cut_at_a_character() {
    check("ääääääää", 3, &["äää", "äää", "ää"]);
    check("a bbbbbbbb c", 4, &["a", "bbbb", "bbbb", "c"]);
}

#[test]
fn the_beginning_of_a_line_keeps_its_white_space() {
    check("- one\n  - two\n  - three", 14, &["- one\n  - two", "  - three"]);
}

#[test]
fn a_fence_is_not_cut_where_it_can_be_avoided() {
    let code = "```rust\nlet a = 1;\n\nlet b = 2;\n```";
    check(&format!("Look here:\n{code}\nDone."), 40, &["Look here:", &format!("{code}\nDone.")]);
    check(&format!("{code}\n\n{code}"), 60, &[code, code]);
}

#[test]
fn a_fence_longer_than_the_limit_is_closed_and_opened_again() {
    check(
        "Code:\n\n~~~py x\na = 1\n\nb = 2\nc = 3\n~~~\nDone.",
        22,
        &["Code:", "~~~py x\na = 1\n\n~~~", "~~~py x\nb = 2\n~~~", "~~~py x\nc = 3\n~~~", "Done."],
    );
    let long = format!("```\n{}\n```", "x".repeat(20));
    check(&long, 18, &["```\nxxxxxxxxxx\n```", "```\nxxxxxxxxxx\n```"]);
    check(
        "- a\n  ```\n  1234\n  5678\n  ```",
        18,
        &["- a", "  ```\n  1234\n  ```", "  ```\n  5678\n  ```"],
    );
    check(
        "> ```\n> 12345\n> 67890\n> ```",
        22,
        &["> ```\n> 12345\n> ```", "> ```\n> 67890\n> ```"],
    );
}

#[test]
fn what_only_looks_like_a_fence_is_text() {
    check("a ```b c``` d e f", 9, &["a ```b", "c``` d e", "f"]);
}

#[test]
fn a_limit_too_small_for_a_fence_still_holds() {
    let texts = split("```rust\nabc def\n```", 4);
    assert!(texts.iter().all(|chunk| chunk.text.chars().count() <= 4), "{texts:?}");
}

#[test]
fn tables_become_code_where_they_are_not_known() {
    let table =
        "Prices:\n\n| what | price |\n|---|---|\n| **tea** | 2 |\n| cake | 10 & more |\n\nBye.";
    let code = "what | price\n-----+----------\ntea  | 2\ncake | 10 & more";
    assert_eq!(
        chunks(table, 500, MarkdownFlavor::Discord),
        [format!("Prices:\n\n```\n{code}\n```\n\nBye.")]
    );
    assert_eq!(chunks(table, 500, MarkdownFlavor::Standard), [table]);
    let escaped = code.replace('&', "&amp;");
    assert_eq!(
        chunks(table, 500, MarkdownFlavor::SlackMrkdwn),
        [format!("Prices:\n\n```\n{escaped}\n```\n\nBye.")]
    );
    assert_eq!(
        chunks(table, 500, MarkdownFlavor::TelegramHtml),
        [format!("Prices:\n\n<pre>{escaped}</pre>\n\nBye.")]
    );
    assert_eq!(
        chunks(table, 500, MarkdownFlavor::None),
        ["Prices:\n\nwhat | price\ntea | 2\ncake | 10 & more\n\nBye."]
    );
    assert_eq!(
        chunks("A | B, and *no* table", 500, MarkdownFlavor::Discord),
        ["A | B, and *no* table"]
    );
}

const RICH: &str = "\
# Title

Some **bold**, *soft*, ~~old~~ and `a < b` text with a [link](https://x.example/?a=1&b=2) and <https://y.example>.

1. one
2. two
   - deep
- [x] done

> said
> twice

```rust
let a: Vec<T> = b && c;
```
![alt](https://z.example/p.png)";

#[test]
fn markdown_is_taken_out_where_nobody_reads_it() {
    assert_eq!(
        chunks(RICH, 2000, MarkdownFlavor::None),
        ["\
Title

Some bold, soft, old and a < b text with a link (https://x.example/?a=1&b=2) and https://y.example.

1. one
2. two
  - deep

- [x] done

> said
> twice

let a: Vec<T> = b && c;

alt (https://z.example/p.png)"]
    );
}

#[test]
fn slack_gets_its_own_signs() {
    assert_eq!(
        chunks(RICH, 2000, MarkdownFlavor::SlackMrkdwn),
        ["\
*Title*

Some *bold*, _soft_, ~old~ and `a &lt; b` text with a <https://x.example/?a=1&amp;b=2|link> and <https://y.example>.

1. one
2. two
  • deep

• [x] done

> said
> twice

```
let a: Vec&lt;T&gt; = b &amp;&amp; c;
```

<https://z.example/p.png|alt>"]
    );
}

#[test]
fn telegram_gets_its_html() {
    assert_eq!(
        chunks(RICH, 2000, MarkdownFlavor::TelegramHtml),
        ["\
<b>Title</b>

Some <b>bold</b>, <i>soft</i>, <s>old</s> and <code>a &lt; b</code> text with a \
<a href=\"https://x.example/?a=1&amp;b=2\">link</a> and <a href=\"https://y.example\">https://y.example</a>.

1. one
2. two
  • deep

• [x] done

<blockquote>said
twice</blockquote>

<pre><code class=\"language-rust\">let a: Vec&lt;T&gt; = b &amp;&amp; c;</code></pre>

<a href=\"https://z.example/p.png\">alt</a>"]
    );
}

#[test]
fn markup_that_is_longer_than_the_text_is_cut_again() {
    let text = "x < y & z > w ".repeat(40);
    for markdown in [MarkdownFlavor::TelegramHtml, MarkdownFlavor::SlackMrkdwn] {
        let pieces = chunks(&text, 100, markdown);
        assert!(pieces.iter().all(|piece| piece.chars().count() <= 100), "{pieces:?}");
        let back = pieces.join(" ").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        assert_eq!(back, text.trim());
    }
}

fn piece_of_text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-zäß😀]{1,12}",
        4 => Just(" ".to_owned()),
        2 => Just(". ".to_owned()),
        2 => Just("\n".to_owned()),
        2 => Just("\n\n".to_owned()),
        1 => Just("\n\n   ".to_owned()),
        1 => Just("\n- ".to_owned()),
        1 => Just("\n> ".to_owned()),
        1 => Just("`".to_owned()),
        1 => Just("\n```\n".to_owned()),
        1 => Just("\n~~~~ py\n".to_owned()),
        1 => Just("\n```rust\nlet a = 1;\n\n  let b = 2;\n```\n".to_owned()),
        1 => Just("\n| a | b |\n|---|---|\n| c | d |\n".to_owned()),
        1 => Just("**b & <c>** [l](http://x.example)".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn nothing_is_lost_and_nothing_is_too_long(
        pieces in prop::collection::vec(piece_of_text(), 0..60),
        limit in 1usize..120,
    ) {
        let text = pieces.concat();
        let mut done = 0;
        for chunk in split(&text, limit) {
            prop_assert!(chunk.text.chars().count() <= limit, "{chunk:?}");
            let gap = &text[done..chunk.carries.start];
            prop_assert!(gap.trim().is_empty(), "lost {gap:?}");
            let carried = &text[chunk.carries.clone()];
            let at = chunk.text.find(carried);
            prop_assert!(at.is_some(), "{chunk:?} does not carry {carried:?}");
            let mended = chunk.text.len() - carried.len();
            prop_assert!(mended == 0 || chunk.text.contains("```") || chunk.text.contains("~~~"));
            done = chunk.carries.end;
        }
        prop_assert!(text[done..].trim().is_empty(), "lost {:?}", &text[done..]);
    }

    #[test]
    fn every_markup_keeps_the_limit(
        pieces in prop::collection::vec(piece_of_text(), 0..60),
        limit in 40usize..200,
    ) {
        let text = pieces.concat();
        let all = [MarkdownFlavor::Standard, MarkdownFlavor::Discord, MarkdownFlavor::TelegramHtml, MarkdownFlavor::SlackMrkdwn, MarkdownFlavor::None];
        for markdown in all {
            for piece in chunks(&text, limit, markdown) {
                prop_assert!(piece.chars().count() <= limit, "{markdown:?} {piece:?}");
                prop_assert!(!piece.trim().is_empty());
            }
        }
    }

    #[test]
    fn every_piece_of_a_fence_is_a_fence(
        lines in prop::collection::vec("[a-z =]{0,30}", 1..40),
        limit in 24usize..80,
    ) {
        let text = format!("Look:\n\n```rust\n{}\n```\n\nDone.", lines.join("\n"));
        let chunks = split(&text, limit);
        let mut code = String::new();
        for chunk in &chunks {
            for event in Parser::new(&chunk.text) {
                match event {
                    Event::Start(Tag::CodeBlock(kind)) => {
                        let kind = format!("{kind:?}");
                        prop_assert!(kind.contains("rust"), "{kind}");
                    }
                    Event::Text(text) => code.push_str(&text),
                    _ => {}
                }
            }
        }
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(plain(&code), plain(&format!("Look:{}Done.", lines.concat())));
    }
}
