//! Markdown as a person sees it.

use super::*;
use crate::wrap::row_width;

fn shown(text: &str, columns: usize) -> String {
    let rows = rows(text, columns);
    assert!(rows.iter().all(|row| row_width(row) <= columns), "{rows:?}");
    let one = |row: &StyledRow| row.spans.iter().map(|span| &*span.content).collect::<String>();
    rows.iter().map(one).map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[test]
fn blocks_have_a_row_between_them() {
    insta::assert_snapshot!(shown("# Title\nSome *words* and `code`.\n\nMore, [here](https://a.example/b).", 60), @"
    # Title

    Some words and code.

    More, here (https://a.example/b).
    ");
}

#[test]
fn lists_nest_and_wrap_below_their_text() {
    let text = "- one two three four five\n  - inner\n- [x] done\n\n1. first\n2. second";
    insta::assert_snapshot!(shown(text, 20), @"
    • one two three four
      five
      • inner
    • [x] done

    1. first
    2. second
    ");
}

#[test]
fn code_keeps_its_lines_and_breaks_where_the_width_ends() {
    insta::assert_snapshot!(shown("```rust\nfn a() {}\n\n    let long = 123456;\n```", 16), @"
      fn a() {}

          let long =
      123456;
    ");
}

#[test]
fn a_table_gives_way_to_the_width() {
    let text = "| name | what it does |\n|---|---:|\n| a | a long text that wraps |\n| bb | x |";
    insta::assert_snapshot!(shown(text, 24), @"
    name │      what it does
    ─────┼──────────────────
    a    │  a long text that
         │             wraps
    bb   │                 x
    ");
}

#[test]
fn quotes_and_rules() {
    insta::assert_snapshot!(shown("> said\n> so\n\n---\nend", 30), @"
    │ said so

    ──────────────────────────────

    end
    ");
}

#[test]
fn control_characters_are_shown_and_not_sent() {
    assert_eq!(shown("a\x1b]0;evil\x07b `\x1b[2J`", 60), "a\\u{1b}]0;evil\\u{7}b \\u{1b}[2J");
}

#[test]
fn every_width_is_kept() {
    let text = "# A long heading with words\n\n- item with `code` and **bold** words\n  1. nested 日本語 \
                text\n\n| a | b | c | d |\n|-|-|-|-|\n| 1 | 2 | long cell here | x |\n\n```js\nlet a = 1; // \
                comment here\n```\n> quote that is long enough to wrap";
    for columns in 20..80 {
        shown(text, columns);
    }
}

#[test]
fn units_of_whole_lines_that_another_follows_do_not_change() {
    let text = "Intro text\n\n- one\n- two\n  more\n- three\n\n```rust\nlet a = 1;\nlet b = 2;\n```\n\n| a | \
                b |\n|---|---|\n| 1 | 2 |\n\nThe end.";
    let mut code = Highlighter::default();
    let whole = units(text, 40, &mut code);
    let mut growing = Highlighter::default();
    for end in text.match_indices('\n').map(|(at, _)| at + 1) {
        let so_far = units(&text[..end], 40, &mut growing);
        let settled = so_far.len().saturating_sub(1);
        assert_eq!(so_far[..settled], whole[..settled], "after {:?}", &text[..end]);
    }
}
