//! Every limit of this crate, with its unit.
//!
//! Those a host may want to lower are also fields of `ToolBounds` and stand here as defaults.
//!
//! Must never: let a model spend memory or time that nobody bounded.

/// How many links the way to a file may have.
pub const LINKS_MAX: usize = 40;
/// How many names of a directory are compared where upper and lower case are the same.
pub const NAMES_COMPARED_MAX: usize = 100_000;
/// The time a shell call gets when the host says nothing, in milliseconds.
pub const SHELL_TIMEOUT_MS_MAX: u64 = 30_000;
/// The output of a shell call that is kept when the host says nothing, in characters.
pub const SHELL_OUTPUT_CHARS_MAX: u64 = 20_000;
/// The longest shell command, in bytes; the system takes no longer argument.
pub const SHELL_COMMAND_BYTES_MAX: usize = 120 * 1024;

/// The most text that one reading of a file gives, in bytes.
pub const READ_BYTES_MAX: u64 = 128 * 1024;
/// The largest file of which a part is read, in bytes.
pub const READ_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How much of a file is looked at to tell what it is, in bytes.
pub const SNIFF_BYTES_MAX: usize = 8 * 1024;
/// The largest file that is written or edited, in bytes.
pub const WRITE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// The longest preview of a change, in characters.
pub const PREVIEW_CHARS_MAX: usize = 20_000;
/// How long a preview may take to find the smallest change, in milliseconds.
pub const PREVIEW_MS_MAX: u64 = 300;
/// How often a name for a temporary file is tried.
pub const TEMPORARY_NAMES_MAX: u32 = 16;
/// How many lines an answer names when a text stands in a file more than once.
pub const MATCH_LINES_MAX: usize = 10;

/// How many near names an answer offers for a name that is not there.
pub const NEAR_NAMES_MAX: usize = 3;
/// How many names are looked at for near ones.
pub const NEAR_CANDIDATES_MAX: usize = 2_000;
/// How alike a near name must be, from 0 to 1; two letters swapped in a name of three still are.
pub const NEAR_LIKENESS_MIN: f64 = 0.66;

/// How many entries of directories a search walks over.
pub const SEARCH_ENTRIES_MAX: usize = 100_000;
/// How many results a search gives.
pub const SEARCH_RESULTS_MAX: usize = 200;
/// The largest file that is searched, in bytes.
pub const SEARCH_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// The room a search has for lines beside the file itself, in bytes.
pub const SEARCH_BUFFER_BYTES_MAX: u64 = 64 * 1024;
/// How long a search may take, in milliseconds.
pub const SEARCH_MS_MAX: u64 = 20_000;
/// The longest line that a search shows, in characters.
pub const SEARCH_LINE_CHARS_MAX: usize = 300;
/// How many lines around a match are shown.
pub const SEARCH_CONTEXT_LINES_MAX: usize = 20;
/// The most text that a search gives, in characters.
pub const SEARCH_OUTPUT_CHARS_MAX: usize = 60_000;
/// The largest compiled form of a search pattern, in bytes.
pub const REGEX_BYTES_MAX: usize = 1024 * 1024;
/// How deep a search goes down.
pub const SEARCH_DEPTH_MAX: usize = 128;
/// How much of a `.gitignore` is read, in bytes.
pub const IGNORE_FILE_BYTES_MAX: u64 = 256 * 1024;

/// The most that is read from a web server after decompression, in bytes.
pub const FETCH_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// The most text that a web page gives, in characters.
pub const FETCH_OUTPUT_CHARS_MAX: u64 = 40_000;
/// How long fetching may take with all its hops, in milliseconds.
pub const FETCH_MS_MAX: u64 = 30_000;
/// How long one connection may take to be made, in milliseconds.
pub const FETCH_CONNECT_MS_MAX: u64 = 10_000;
/// How often a server may send us on.
pub const FETCH_HOPS_MAX: usize = 5;
/// The longest address, in bytes.
pub const FETCH_URL_BYTES_MAX: usize = 8 * 1024;
/// How deep a page may nest; its conversion recurses.
pub const PAGE_DEPTH_MAX: usize = 400;
/// How long a page may take to be parsed, in milliseconds; the time of hostile ones is quadratic.
pub const PAGE_PARSE_MS_MAX: u64 = 2_000;
/// How much of a page is parsed between two looks at depth and clock, in bytes.
pub const PAGE_PIECE_BYTES_MAX: usize = 4 * 1024;
/// How many elements of a page are judged to find its main text.
pub const PAGE_ELEMENTS_MAX: usize = 50_000;
/// The stack of the thread that fetches and converts, in bytes.
pub const FETCH_STACK_BYTES: usize = 16 * 1024 * 1024;
/// How often a request to stop is looked for while fetching, in milliseconds.
pub const FETCH_STOP_LOOK_MS: u64 = 20;
/// How long a file tool may take in its helper, in milliseconds.
pub const FILE_TOOL_MS_MAX: u64 = 60_000;
/// How long the helper may take to show what a call would change, in milliseconds.
pub const PREVIEW_WAIT_MS_MAX: u64 = 10_000;
/// How many refusals of the sandbox are told after a command.
pub const DENIALS_MAX: usize = 10;
