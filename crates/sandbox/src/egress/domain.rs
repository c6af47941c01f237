//! Names of hosts: as a process writes them, and as a list allows them.
//!
//! A name is compared in one form only: small letters, no dot at its end, plain labels. Every
//! notation that a system library takes for an address is an address here.
//!
//! Must never: compare names by their bytes before they were parsed, or allow by a part of a label.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::limits::{HOST_BYTES_MAX, LABEL_BYTES_MAX};

/// Top-level names of no public registry, so all names below them may be allowed at once.
const PRIVATE_ENDS: [&str; 4] = ["internal", "local", "localhost", "test"];

/// A requested host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EgressHost {
    /// In small letters, without a dot at its end.
    Name(String),
    Address(IpAddr),
}

impl EgressHost {
    /// Parses a host as a process writes it.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("the host is empty");
        }
        let Ok(text) = std::str::from_utf8(text) else {
            return Err("the host is not plain ASCII");
        };
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or("the bracket is not closed")?;
            return address(inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6));
        }
        if text.contains(':') {
            return address(text.parse::<Ipv6Addr>().ok().map(IpAddr::V6));
        }
        let name = plain_name(text)?;
        let last = name.rsplit('.').next().unwrap_or_default();
        if is_number(last) {
            return address(address_of_numbers(&name).map(IpAddr::V4));
        }
        Ok(Self::Name(name))
    }
}

impl fmt::Display for EgressHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

fn address(parsed: Option<IpAddr>) -> Result<EgressHost, &'static str> {
    parsed.map(|it| EgressHost::Address(it.to_canonical())).ok_or("the address is malformed")
}

fn plain_name(text: &str) -> Result<String, &'static str> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() > HOST_BYTES_MAX {
        return Err("the host name is too long");
    }
    for label in text.split('.') {
        if label.is_empty() || label.len() > LABEL_BYTES_MAX {
            return Err("the host name has an empty or too long part");
        }
        if !label.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-' || it == b'_') {
            return Err("the host name has a character that no host name has");
        }
    }
    Ok(text.to_ascii_lowercase())
}

/// Returns true for a number. No public name ends in one, but every dotted address does.
fn is_number(label: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
    let hex = |text: &str| text.bytes().all(|it| it.is_ascii_hexdigit());
    digits(label) || label.strip_prefix("0x").is_some_and(hex)
}

/// Parses an address as system libraries do: up to four numbers, the last one fills the rest.
fn address_of_numbers(name: &str) -> Option<Ipv4Addr> {
    let numbers = name.split('.').map(number).collect::<Option<Vec<u32>>>()?;
    let (last, firsts) = numbers.split_last()?;
    if firsts.len() > 3 || firsts.iter().any(|it| *it > 255) {
        return None;
    }
    let rest_bits = 32 - 8 * u32::try_from(firsts.len()).ok()?;
    if rest_bits < 32 && *last >= 1 << rest_bits {
        return None;
    }
    let mut bits = *last;
    for (place, first) in firsts.iter().enumerate() {
        bits |= first << (24 - 8 * place);
    }
    Some(Ipv4Addr::from_bits(bits))
}

fn number(label: &str) -> Option<u32> {
    match label.strip_prefix("0x") {
        // A lone `0x` is a zero to the system libraries.
        Some("") => Some(0),
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None if !label.bytes().all(|it| it.is_ascii_digit()) => None,
        None if label.len() > 1 && label.starts_with('0') => u32::from_str_radix(label, 8).ok(),
        None => label.parse().ok(),
    }
}

/// One entry of the list of allowed hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Domain {
    /// This name and no other.
    Exactly(String),
    /// Everything below this name, but not the name itself.
    Below(String),
    /// This address and no other.
    Address(IpAddr),
}

impl Domain {
    /// Parses an entry; the error is the reason.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.trim().is_empty() {
            return Err("it is blank");
        }
        if text.contains('/') {
            return Err("write the host alone, without scheme and path");
        }
        if let Some(parent) = text.strip_prefix("*.") {
            return Self::below(parent);
        }
        if text.contains('*') {
            return Err("`*` stands only for the first part, as in `*.example.org`");
        }
        let is_port = |end: &str| end.bytes().all(|it| it.is_ascii_digit());
        if text.matches(':').count() == 1 && text.rsplit(':').next().is_some_and(is_port) {
            return Err("write the host alone, without a port");
        }
        Ok(match EgressHost::parse(text.as_bytes())? {
            EgressHost::Name(name) => Self::Exactly(name),
            EgressHost::Address(address) => Self::Address(address),
        })
    }

    fn below(parent: &str) -> Result<Self, &'static str> {
        if parent.contains('*') {
            return Err("`*` stands only for the first part, as in `*.example.org`");
        }
        match EgressHost::parse(parent.as_bytes())? {
            EgressHost::Address(_) => Err("nothing is below an address"),
            EgressHost::Name(name)
                if !name.contains('.') && !PRIVATE_ENDS.contains(&name.as_str()) =>
            {
                Err("that is a whole top-level domain; name what you need below it")
            }
            EgressHost::Name(name) => Ok(Self::Below(name)),
        }
    }

    /// Returns true if this entry allows the host.
    pub(crate) fn matches(&self, host: &EgressHost) -> bool {
        match (self, host) {
            (Self::Exactly(name), EgressHost::Name(asked)) => name == asked,
            (Self::Below(parent), EgressHost::Name(asked)) => asked
                .strip_suffix(parent.as_str())
                .is_some_and(|front| front.len() > 1 && front.ends_with('.')),
            (Self::Address(address), EgressHost::Address(asked)) => address == asked,
            (Self::Exactly(_) | Self::Below(_), EgressHost::Address(_))
            | (Self::Address(_), EgressHost::Name(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, asked: &str, expected: bool) {
        let allowed = EgressHost::parse(asked.as_bytes())
            .is_ok_and(|host| Domain::parse(entry).unwrap().matches(&host));
        assert_eq!(allowed, expected, "{entry} for {asked}");
    }

    #[test]
    fn names_are_compared_by_whole_labels() {
        check("x.com", "x.com", true);
        check("x.com", "X.CoM", true);
        check("X.com.", "x.com", true);
        check("x.com", "x.com.", true);
        check("x.com", "x.com..", false);
        check("x.com", "a.x.com", false);
        check("x.com", "ax.com", false);
        check("x.com", "x.com.evil.org", false);
        check("x.com", "x.comm", false);
        check("x.com", "com", false);
        check("*.x.com", "a.x.com", true);
        check("*.x.com", "A.b.X.com.", true);
        check("*.x.com", "x.com", false);
        check("*.x.com", ".x.com", false);
        check("*.x.com", "ax.com", false);
        check("*.x.com", "a.x.com.evil.org", false);
        check("*.test", "a.test", true);
        check("1.2.3.4", "1.2.3.4", true);
        check("1.2.3.4", "0x1020304", true);
        check("1.2.3.4", "::ffff:1.2.3.4", true);
        check("1.2.3.4", "1.2.3.5", false);
        check("[2606:4700::1]", "[2606:4700:0::1]", true);
        check("2606:4700::1", "[2606:4700::1]", true);
    }

    #[test]
    fn what_is_no_name_is_no_host() {
        let long_label = "a".repeat(64);
        let long_name = format!("{}.org", ["abcdefghi"; 26].join("."));
        for text in [
            "",
            ".",
            "..",
            "a..b",
            ".a",
            "a b",
            "a\0.org",
            "ok.test\0.evil.org",
            "a%00.org",
            "u@a.org",
            "a/b",
            "a\\b",
            "a\tb",
            "a\nb",
            "bücher.example",
            "a*.org",
            "[::1",
            "[1.2.3.4]",
            "[a]",
            "::1%eth0",
            "fe80::1%25eth0",
            "1:2",
            "a:b",
            &long_label,
            &long_name,
        ] {
            assert!(EgressHost::parse(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(EgressHost::parse(b"\xffa.org").is_err());
        let longest = format!("{}.{}", "a".repeat(63), ["abcdefghi"; 18].join("."));
        assert!(EgressHost::parse(longest.as_bytes()).is_ok());
        assert!(EgressHost::parse(b"_acme.xn--bcher-kva.example").is_ok());
    }

    #[test]
    fn every_notation_of_an_address_is_an_address() {
        for text in [
            "127.0.0.1",
            "127.0.0.1.",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0X7F.1",
            "017700000001",
            "0177.0.0.1",
            "0x7f.0.0.0x1",
            "::ffff:127.0.0.1",
            "[::ffff:7f00:1]",
        ] {
            let host = EgressHost::parse(text.as_bytes());
            assert_eq!(host, Ok(EgressHost::Address(Ipv4Addr::LOCALHOST.into())), "{text}");
        }
        assert_eq!(
            EgressHost::parse(b"[::1]"),
            Ok(EgressHost::Address(Ipv6Addr::LOCALHOST.into()))
        );
        assert_eq!(EgressHost::parse(b"0x"), Ok(EgressHost::Address(Ipv4Addr::UNSPECIFIED.into())));
        for text in
            ["1.2.3.4.5", "256.1.1.1", "1.2.3.256", "1.2.65536", "4294967296", "09.1.1.1", "a.1"]
        {
            assert_eq!(
                EgressHost::parse(text.as_bytes()),
                Err("the address is malformed"),
                "{text}"
            );
        }
    }

    #[test]
    fn an_entry_that_means_something_else_is_an_error() {
        for entry in [
            "",
            " ",
            "\t",
            "*",
            "*.",
            "*.com",
            "*.*.com",
            "a.*.com",
            "a*.com",
            "*a.com",
            "**.x.com",
            "http://x.com",
            "x.com/",
            "x.com/path",
            "x.com:443",
            "[::1]:80",
            "*.1.2.3.4",
            " x.com",
            "x.com ",
            "x..com",
            "u@x.com",
            "foo.123",
            "bücher.example",
            "x.com:",
        ] {
            assert!(Domain::parse(entry).is_err(), "{entry:?}");
        }
        assert_eq!(Domain::parse("localhost"), Ok(Domain::Exactly("localhost".into())));
        assert_eq!(Domain::parse("*.internal"), Ok(Domain::Below("internal".into())));
    }
}
