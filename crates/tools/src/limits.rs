//! Every limit of this crate, with its unit.
//!
//! Limits that a host may lower are also fields of `ToolLimits`; the constants are their defaults.
//!
//! Must never: let a model use memory or time without a bound.

/// Maximum of links on the way to a file.
pub const LINKS_MAX: usize = 40;
/// Maximum of names that are compared in a directory that ignores case.
pub const NAMES_COMPARED_MAX: usize = 100_000;
/// Default timeout of a shell call, in milliseconds.
pub const SHELL_TIMEOUT_MS_MAX: u64 = 30_000;
/// Default limit of the output of a shell call, in characters.
pub const SHELL_OUTPUT_CHARS_MAX: u64 = 20_000;
/// Longest shell command, in bytes; the system accepts no longer argument.
pub const SHELL_COMMAND_BYTES_MAX: usize = 120 * 1024;

/// Maximum of text that one read of a file returns, in bytes.
pub const READ_BYTES_MAX: u64 = 128 * 1024;
/// Largest file of which a part is read, in bytes.
pub const READ_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Length of the beginning of a file by which its type is detected, in bytes.
pub const SNIFF_BYTES_MAX: usize = 8 * 1024;
/// Largest file that is written or edited, in bytes.
pub const WRITE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Longest preview of a change, in characters.
pub const PREVIEW_CHARS_MAX: usize = 20_000;
/// Longest search for the smallest change in a preview, in milliseconds.
pub const PREVIEW_MS_MAX: u64 = 300;
/// Maximum of attempts to find a name for a temporary file.
pub const TEMPORARY_NAMES_MAX: u32 = 16;
/// Maximum of lines that an outcome lists for a text with several matches.
pub const MATCH_LINES_MAX: usize = 10;

/// Maximum of similar names that are suggested for a missing name.
pub const NEAR_NAMES_MAX: usize = 3;
/// Maximum of names that are compared for suggestions.
pub const NEAR_CANDIDATES_MAX: usize = 2_000;
/// Least similarity of a suggestion, from 0 to 1; a name of three letters with two swapped passes.
pub const NEAR_LIKENESS_MIN: f64 = 0.66;

/// Maximum of directory entries that a search visits.
pub const SEARCH_ENTRIES_MAX: usize = 100_000;
/// Maximum of results of a search.
pub const SEARCH_RESULTS_MAX: usize = 200;
/// Largest file that is searched, in bytes.
pub const SEARCH_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Buffer of a search for lines, besides the file itself, in bytes.
pub const SEARCH_BUFFER_BYTES_MAX: u64 = 64 * 1024;
/// Longest duration of a search, in milliseconds.
pub const SEARCH_MS_MAX: u64 = 20_000;
/// Longest line that a search shows, in characters.
pub const SEARCH_LINE_CHARS_MAX: usize = 300;
/// Maximum of lines that are shown around a match.
pub const SEARCH_CONTEXT_LINES_MAX: usize = 20;
/// Maximum of text that a search returns, in characters.
pub const SEARCH_OUTPUT_CHARS_MAX: usize = 60_000;
/// Largest compiled form of a search pattern, in bytes.
pub const REGEX_BYTES_MAX: usize = 1024 * 1024;
/// Deepest directory that a search visits.
pub const SEARCH_DEPTH_MAX: usize = 128;
/// Length of a `.gitignore` that is read, in bytes.
pub const IGNORE_FILE_BYTES_MAX: u64 = 256 * 1024;

/// Maximum that is read from a web server, in bytes after decompression.
pub const FETCH_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// Maximum of text that a web page returns, in characters.
pub const FETCH_OUTPUT_CHARS_MAX: u64 = 40_000;
/// Longest duration of a fetch with all its hops, in milliseconds.
pub const FETCH_MS_MAX: u64 = 30_000;
/// Longest time to open one connection, in milliseconds.
pub const FETCH_CONNECT_MS_MAX: u64 = 10_000;
/// Maximum of redirects.
pub const FETCH_HOPS_MAX: usize = 5;
/// Longest URL, in bytes.
pub const FETCH_URL_BYTES_MAX: usize = 8 * 1024;
/// Deepest nesting of a page; its conversion recurses.
pub const PAGE_DEPTH_MAX: usize = 400;
/// Longest time to parse a page, in milliseconds; hostile pages take quadratic time.
pub const PAGE_PARSE_MS_MAX: u64 = 2_000;
/// Length of a page that is parsed between two checks of depth and time, in bytes.
pub const PAGE_PIECE_BYTES_MAX: usize = 4 * 1024;
/// Maximum of page elements that are examined to find the main text.
pub const PAGE_ELEMENTS_MAX: usize = 50_000;
/// Stack of the thread that fetches and converts, in bytes.
pub const FETCH_STACK_BYTES: usize = 16 * 1024 * 1024;
/// Time between two checks for a stop while fetching, in milliseconds.
pub const FETCH_STOP_LOOK_MS: u64 = 20;
/// Longest duration of a file tool in its helper, in milliseconds.
pub const FILE_TOOL_MS_MAX: u64 = 60_000;
/// Longest wait for a preview from the helper, in milliseconds.
pub const PREVIEW_WAIT_MS_MAX: u64 = 10_000;
/// Maximum of refusals by the sandbox that are listed after a command.
pub const DENIALS_MAX: usize = 10;
