//! The form of a row of the table.
//!
//! Must never: decide anything.

/// What is harmless of one command, or of one subcommand.
#[derive(Clone, Copy, Debug)]
pub struct HarmlessRow {
    /// The commands, or commands with their subcommands, that it is about.
    pub names: &'static [&'static str],
    /// Options of one letter as `getopt` has them: `a` takes nothing, `b:` a value, `c::` a joined value; `#` is
    /// any digit.
    pub short: &'static str,
    /// Options of a whole word: `--a` takes nothing, `--b=` a value, `--c[=]` perhaps a value after `=`.
    pub long: &'static str,
    /// How the words are read.
    pub style: OptionStyle,
    /// The arguments that are not options.
    pub operands: Operands,
    /// What follows `--`.
    pub dashes: DoubleDash,
    /// Options with their values that are harmless just so, with a space between the words.
    pub phrases: &'static [&'static str],
    /// The same, and one of them must be there.
    pub needs: &'static [&'static str],
    /// What no value of an option may contain.
    pub values_without: &'static [&'static str],
    /// Commands that a rule for the name covers.
    pub allowed: &'static [&'static str],
    /// Commands about which a person is asked all the same.
    pub asked: &'static [&'static str],
}

impl HarmlessRow {
    /// A row of which nothing is harmless.
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

/// How options are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionStyle {
    /// Letters in a row after one dash, words after two.
    Getopt,
    /// A word after one dash.
    Words,
    /// As `Getopt`, and the first argument is a row of letters without a dash.
    Bundle,
}

/// Which arguments that are not options are harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// All: they are read.
    Any,
    /// None, and without any argument it takes commands from its input.
    Nothing,
    /// So many; one more would be written.
    UpTo(usize),
    /// Those that contain none of these texts.
    Without(&'static [&'static str]),
    /// Those that begin so.
    Starting(&'static str),
    /// Paths below the place where the command starts, or in a folder for temporary files: they are written.
    Below,
    /// The first begins a command that is looked at by itself.
    Followed,
    /// The first is a program; a rule must name it, and the rest is for that program.
    Program,
    /// The first is a subcommand with a row of its own.
    Subcommand,
}

/// What `--` begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoubleDash {
    /// Operands.
    Operands,
    /// Arguments of a program that the command runs anyway.
    Program,
}
