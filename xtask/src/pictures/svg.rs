//! Draws the frames of a recording as one SVG that shows them one after the other.
//!
//! The picture has no script: CSS switches the frames. Where motion is unwanted or CSS animation
//! is missing, the last frame is shown.
//!
//! Must never: refer to another file, or name a font that must be installed.

use std::fmt::{self, Write as _};

use crate::pictures::{
    ansi::{StyledText, TextStyle},
    pane::{COLUMNS, ROWS},
    recording::Frame,
};

const TITLE: &str = "A chat with an agent in the terminal";
const FRAME_SECONDS: f64 = 2.5;
const LAST_FRAME_SECONDS: f64 = 5.0;

const FONT_SIZE: f64 = 14.0;
/// The advance of the common monospace fonts is 0.6 of their size, or a little less.
const CELL_WIDTH: f64 = 8.43;
const CELL_HEIGHT: f64 = 19.0;
const MARGIN: f64 = 16.0;
const BAR_HEIGHT: f64 = 36.0;

/// The sixteen colors on the dark ground of the window.
const COLORS: [&str; 16] = [
    "#3b4252", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#d0d7de",
    "#8b949e", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
];

/// Returns the whole picture.
pub(super) fn drawing(frames: &[Frame]) -> String {
    let mut svg = String::new();
    // Formatting into a string cannot fail.
    draw(&mut svg, frames).expect("a string takes all");
    svg
}

fn draw(svg: &mut String, frames: &[Frame]) -> fmt::Result {
    let width = rounded(COLUMNS as f64 * CELL_WIDTH + 2.0 * MARGIN);
    let height = rounded(BAR_HEIGHT + ROWS as f64 * CELL_HEIGHT + MARGIN);
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"title\">"
    )?;
    writeln!(svg, "<title id=\"title\">{TITLE}</title>")?;
    writeln!(svg, "<style>\n{}</style>", style(frames.len())?)?;
    window(svg, width, height)?;
    for (index, frame) in frames.iter().enumerate() {
        let last = if index + 1 == frames.len() { " last" } else { "" };
        writeln!(svg, "<g class=\"frame f{index}{last}\">")?;
        let middle = width / 2.0;
        let (number, count) = (index + 1, frames.len());
        let caption = escaped(frame.caption);
        writeln!(
            svg,
            "<text class=\"caption\" x=\"{middle}\" y=\"23\">{number}/{count} · {caption}</text>"
        )?;
        cursor(svg, frame)?;
        for (at, row) in frame.rows.iter().enumerate() {
            text_row(svg, at, row)?;
        }
        writeln!(svg, "</g>")?;
    }
    writeln!(svg, "</svg>")
}

fn style(frames: usize) -> Result<String, fmt::Error> {
    let mut css = format!(
        "text{{font:{FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',\
         'Liberation Mono',monospace;fill:#d0d7de;white-space:pre}}\n\
         .caption{{font-size:13px;fill:#8b949e;text-anchor:middle}}\n\
         .b{{font-weight:700}}\n.u{{text-decoration:underline}}\n"
    );
    for (color, value) in COLORS.iter().enumerate() {
        writeln!(css, ".c{color}{{fill:{value}}}")?;
    }
    let all = frames.saturating_sub(1) as f64 * FRAME_SECONDS + LAST_FRAME_SECONDS;
    writeln!(css, ".frame{{visibility:hidden;animation:{all}s step-end infinite}}")?;
    writeln!(css, ".last{{visibility:visible}}")?;
    for index in 0..frames {
        let start = rounded(index as f64 * FRAME_SECONDS / all * 100.0);
        let end = rounded((index + 1) as f64 * FRAME_SECONDS / all * 100.0);
        let end = if index + 1 == frames { 100.0 } else { end };
        write!(css, "@keyframes f{index}{{0%{{visibility:hidden}}{start}%{{visibility:visible}}")?;
        writeln!(css, "{end}%{{visibility:hidden}}}}")?;
        writeln!(css, ".f{index}{{animation-name:f{index}}}")?;
    }
    writeln!(css, "@media (prefers-reduced-motion:reduce){{.frame{{animation:none}}}}")?;
    Ok(css)
}

fn window(svg: &mut String, width: f64, height: f64) -> fmt::Result {
    let (inner_width, inner_height) = (width - 1.0, height - 1.0);
    writeln!(
        svg,
        "<rect x=\"0.5\" y=\"0.5\" width=\"{inner_width}\" height=\"{inner_height}\" rx=\"9\" \
         fill=\"#0d1117\" stroke=\"#30363d\"/>"
    )?;
    writeln!(svg, "<path d=\"M1 {BAR_HEIGHT}H{inner_width}\" stroke=\"#30363d\"/>")?;
    for (x, color) in [(20, "#ff5f57"), (40, "#febc2e"), (60, "#28c840")] {
        writeln!(svg, "<circle cx=\"{x}\" cy=\"18\" r=\"6\" fill=\"{color}\"/>")?;
    }
    Ok(())
}

fn cursor(svg: &mut String, frame: &Frame) -> fmt::Result {
    let x = left(frame.cursor.column);
    let y = rounded(baseline(frame.cursor.row) - 14.0);
    writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL_WIDTH}\" height=\"18\" fill=\"#d0d7de\" \
         opacity=\".6\"/>"
    )
}

/// Each piece stands at its own column, so that a font of another width cannot shift it.
fn text_row(svg: &mut String, at: usize, row: &[StyledText]) -> fmt::Result {
    if row.iter().all(|piece| piece.text.trim().is_empty()) {
        return Ok(());
    }
    write!(svg, "<text y=\"{}\">", baseline(at))?;
    for StyledText { column, text, style } in row {
        let visible = text.trim_start_matches(' ');
        if visible.is_empty() {
            continue;
        }
        let x = left(column + text.chars().count() - visible.chars().count());
        let text = escaped(visible.trim_end_matches(' '));
        match classes(*style) {
            classes if classes.is_empty() => write!(svg, "<tspan x=\"{x}\">{text}</tspan>")?,
            classes => write!(svg, "<tspan x=\"{x}\" class=\"{classes}\">{text}</tspan>")?,
        }
    }
    writeln!(svg, "</text>")
}

fn classes(style: TextStyle) -> String {
    let TextStyle { color, bold, underline } = style;
    let color = color.map(|color| format!("c{color}"));
    let classes = [color, bold.then(|| "b".to_owned()), underline.then(|| "u".to_owned())];
    classes.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn left(column: usize) -> f64 {
    rounded(MARGIN + column as f64 * CELL_WIDTH)
}

fn baseline(row: usize) -> f64 {
    rounded(BAR_HEIGHT + 20.0 + row as f64 * CELL_HEIGHT)
}

/// Two digits behind the point are enough for a picture.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::{ansi, pane::CursorCell};

    fn frame(screen: &str) -> Frame {
        let rows = ansi::rows(screen).unwrap_or_else(|failure| panic!("{failure}"));
        Frame { caption: "A & B", rows, cursor: CursorCell { column: 0, row: 0 } }
    }

    #[test]
    fn each_piece_stands_at_its_column_in_its_color() {
        let svg = drawing(&[frame("  a <b>\u{1b}[1;32m +c\u{1b}[0m\n")]);
        let expected = "<text y=\"56\"><tspan x=\"32.86\">a &lt;b&gt;</tspan>\
                        <tspan x=\"83.44\" class=\"c2 b\">+c</tspan></text>";
        assert!(svg.contains(expected), "{svg}");
        assert!(svg.contains("1/1 · A &amp; B"), "{svg}");
    }

    #[test]
    fn empty_rows_are_left_out() {
        let svg = drawing(&[frame("\n   \nx\n")]);
        assert_eq!(svg.matches("<text y=").count(), 1, "{svg}");
        assert!(svg.contains("<text y=\"94\"><tspan x=\"16\">x</tspan></text>"), "{svg}");
    }

    #[test]
    fn the_frames_share_the_time_and_the_last_one_stays_without_motion() {
        let svg = drawing(&[frame("a"), frame("b"), frame("c")]);
        assert!(svg.contains("animation:10s step-end infinite"), "{svg}");
        assert!(
            svg.contains(
                "@keyframes f1{0%{visibility:hidden}25%{visibility:visible}50%{visibility:hidden}}"
            ),
            "{svg}"
        );
        assert!(svg.contains("<g class=\"frame f2 last\">"), "{svg}");
        assert_eq!(svg.matches(" last\"").count(), 1);
        assert!(svg.contains("prefers-reduced-motion:reduce"), "{svg}");
    }
}
