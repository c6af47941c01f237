//! The form of a row of the table.
//!
//! Must never: decide anything.

/// The harmless words of one command, or of one subcommand.
#[derive(Clone, Copy, Debug)]
pub struct HarmlessRow {
    /// The commands, perhaps with subcommands, that the row describes.
    pub names: &'static [&'static str],
    /// One-letter options in `getopt` notation: `a` takes no value, `b:` a value, `c::` a joined
    /// value; `#` is any digit.
    pub short: &'static str,
    /// Whole-word options: `--a` takes no value, `--b=` a value, `--c[=]` perhaps one after `=`.
    pub long: &'static str,
    /// The style of the options.
    pub style: OptionStyle,
    /// The harmless arguments that are not options.
    pub operands: Operands,
    /// The meaning of words after `--`.
    pub dashes: DoubleDash,
    /// Harmless options with fixed values, as words separated by spaces.
    pub phrases: &'static [&'static str],
    /// Phrases of which at least one must be present.
    pub needs: &'static [&'static str],
    /// Texts that no value of an option may contain.
    pub values_without: &'static [&'static str],
    /// Commands that a rule for the name covers.
    pub allowed: &'static [&'static str],
    /// Commands that need approval all the same.
    pub asked: &'static [&'static str],
}

impl HarmlessRow {
    /// A row without harmless words.
    pub(super) const NOTHING: Self = Self {
        names: &[],
        short: "",
        long: "",
        style: OptionStyle::Getopt,
        operands: Operands::UpTo(0),
        dashes: DoubleDash::Operands,
        phrases: &[],
        needs: &[],
        values_without: &[],
        allowed: &[],
        asked: &[],
    };
}

/// The notation of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionStyle {
    /// Letters grouped after one dash, words after two.
    Getopt,
    /// A word after one dash.
    Words,
    /// As `Getopt`, and the first argument is a group of letters without a dash.
    Bundle,
}

/// The arguments that are harmless and not options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// All: the command only reads them.
    Any,
    /// None; without any argument the command reads commands from its input.
    Nothing,
    /// So many; one more would be written.
    UpTo(usize),
    /// Operands that contain none of these texts.
    Without(&'static [&'static str]),
    /// Operands that begin with this text.
    Starting(&'static str),
    /// Paths below the starting directory, or in a folder for temporary files: they are written.
    Below,
    /// The first begins a command that is judged separately.
    Followed,
    /// The first is a program; a rule must name it, and the rest are its arguments.
    Program,
    /// The first is a subcommand with a row of its own.
    Subcommand,
}

/// The meaning of `--`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoubleDash {
    /// Operands follow.
    Operands,
    /// Arguments follow, for a program that the command runs anyway.
    Program,
}
