//! The hosts, ports and addresses that a sandbox may reach, and its network limits.
//!
//! An allowed host can leak data by nature: a process can send it everything that it can read, and
//! even the lookup of a name below `*.x` reaches the servers of `x`.
//!
//! Must never: allow a host that is not named, or judge a host by one of several addresses.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use agentry_protocol::confinement::NetworkAccess;
use thiserror::Error;

use super::domain::{Domain, EgressHost};
use crate::address;
use crate::limits::{
    EGRESS_BYTES_MAX, EGRESS_CONNECT_MS_MAX, EGRESS_CONNECTIONS_AT_ONCE_MAX,
    EGRESS_CONNECTIONS_MAX, EGRESS_HEAD_BYTES_MAX, EGRESS_HEAD_MS_MAX, EGRESS_IDLE_MS_MAX,
    EGRESS_RESOLVE_MS_MAX,
};

/// The port of plain HTTP.
pub(crate) const HTTP_PORT: u16 = 80;
/// The port of HTTPS.
pub(crate) const TLS_PORT: u16 = 443;

/// The allowed hosts, addresses and ports, with their limits.
#[derive(Clone, Debug)]
pub struct EgressRules {
    allow: Vec<Domain>,
    addresses: Vec<AddressRange>,
    ports: BTreeSet<u16>,
    pub(crate) caps: EgressLimits,
}

/// The network limits of one sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressLimits {
    /// The number of simultaneous connections.
    pub connections_at_once: usize,
    /// The total number of connections, refused ones included.
    pub connections: usize,
    /// The total of bytes sent, and likewise of bytes received.
    pub bytes: u64,
    /// The longest silence on a connection.
    pub idle: Duration,
    /// The longest head or TLS greeting, in bytes.
    pub head_bytes: usize,
    /// The time for a head or a TLS greeting.
    pub head_time: Duration,
    /// The time to resolve a name.
    pub resolve_time: Duration,
    /// The time for one address to accept a connection.
    pub connect_time: Duration,
}

impl Default for EgressLimits {
    fn default() -> Self {
        Self {
            connections_at_once: EGRESS_CONNECTIONS_AT_ONCE_MAX,
            connections: EGRESS_CONNECTIONS_MAX,
            bytes: EGRESS_BYTES_MAX,
            idle: Duration::from_millis(EGRESS_IDLE_MS_MAX),
            head_bytes: EGRESS_HEAD_BYTES_MAX,
            head_time: Duration::from_millis(EGRESS_HEAD_MS_MAX),
            resolve_time: Duration::from_millis(EGRESS_RESOLVE_MS_MAX),
            connect_time: Duration::from_millis(EGRESS_CONNECT_MS_MAX),
        }
    }
}

/// An invalid entry of a list; it allows nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EgressRuleError {
    /// It is not the name of a host.
    #[error("`{entry}` is no domain that can be allowed: {why}")]
    Domain {
        /// The entry as it is written.
        entry: String,
        /// The reason, as the rest of a sentence.
        why: &'static str,
    },
    /// It is neither an address nor a range of addresses.
    #[error("`{entry}` is no address: write one as `127.0.0.1`, or a range as `10.0.0.0/8`")]
    Address {
        /// The entry as it is written.
        entry: String,
    },
}

impl EgressRules {
    /// Reads the rules of a confinement; no network and an empty list both deny everything.
    pub fn new(network: &NetworkAccess) -> Result<Self, EgressRuleError> {
        let (allow, addresses) = match network {
            NetworkAccess::None => (&[][..], &[][..]),
            NetworkAccess::Domains { allow, addresses } => (&allow[..], &addresses[..]),
        };
        let domain = |entry: &String| {
            Domain::parse(entry)
                .map_err(|why| EgressRuleError::Domain { entry: entry.clone(), why })
        };
        let range = |entry: &String| {
            AddressRange::parse(entry)
                .ok_or_else(|| EgressRuleError::Address { entry: entry.clone() })
        };
        Ok(Self {
            allow: allow.iter().map(domain).collect::<Result<_, _>>()?,
            addresses: addresses.iter().map(range).collect::<Result<_, _>>()?,
            ports: BTreeSet::from([HTTP_PORT, TLS_PORT]),
            caps: EgressLimits::default(),
        })
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_caps(self, caps: EgressLimits) -> Self {
        Self { caps, ..self }
    }

    /// Checks a host and port for a caller outside of the proxy, in the caller's notation.
    ///
    /// # Errors
    /// When the host is refused, with the reason.
    pub fn allows(&self, host: &str, port: u16) -> Result<(), String> {
        self.admit(&EgressHost::parse(host.as_bytes())?, port)
    }

    /// Returns true if the operator listed the address, which makes it count as public.
    pub fn counts_as_public(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|range| range.contains(address.to_canonical()))
    }

    /// Checks a host and port before the name is resolved.
    pub(crate) fn admit(&self, host: &EgressHost, port: u16) -> Result<(), String> {
        if !self.allow.iter().any(|domain| domain.matches(host)) {
            return Err(match host {
                EgressHost::Name(_) => "the host is not among the allowed domains".to_owned(),
                EgressHost::Address(_) => "the address is not among the allowed domains".to_owned(),
            });
        }
        // With no listed address, no answer could make another port right.
        if self.addresses.is_empty() { self.public_port(port) } else { Ok(()) }
    }

    /// Checks the host's addresses: all of them must be allowed.
    pub(crate) fn check_addresses(&self, port: u16, answers: &[SocketAddr]) -> Result<(), String> {
        for answer in answers.iter().map(|answer| answer.ip().to_canonical()) {
            if self.addresses.iter().any(|range| range.contains(answer)) {
                continue;
            }
            if let Some(kind) = address::refusal(answer) {
                return Err(format!("{answer} is {kind}"));
            }
            self.public_port(port)?;
        }
        Ok(())
    }

    fn public_port(&self, port: u16) -> Result<(), String> {
        if self.ports.contains(&port) {
            return Ok(());
        }
        Err(format!("port {port} is not allowed, only {HTTP_PORT} and {TLS_PORT}"))
    }
}

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AddressRange {
    address: IpAddr,
    prefix: u32,
}

impl AddressRange {
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let bits: u32 = if address.is_ipv4() { 32 } else { 128 };
        // `+8` is a number to the library, but not a prefix.
        let prefix = match prefix {
            None => bits,
            Some(text) if text.bytes().all(|it| it.is_ascii_digit()) => text.parse().ok()?,
            Some(_) => return None,
        };
        if prefix > bits || address.to_canonical() != address {
            return None;
        }
        Some(Self { address, prefix })
    }

    fn contains(self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(mine), IpAddr::V4(other)) => {
                let difference = mine.to_bits() ^ other.to_bits();
                difference.checked_shr(32 - self.prefix).unwrap_or(0) == 0
            }
            (IpAddr::V6(mine), IpAddr::V6(other)) => {
                let difference = mine.to_bits() ^ other.to_bits();
                difference.checked_shr(128 - self.prefix).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow: &[&str], addresses: &[&str]) -> Result<EgressRules, EgressRuleError> {
        EgressRules::new(&NetworkAccess::Domains {
            allow: allow.iter().map(ToString::to_string).collect(),
            addresses: addresses.iter().map(ToString::to_string).collect(),
        })
    }

    fn admits(rules: &EgressRules, host: &str, port: u16) -> bool {
        rules.admit(&EgressHost::parse(host.as_bytes()).unwrap(), port).is_ok()
    }

    #[test]
    fn no_network_and_an_empty_list_deny_everything() {
        for rules in
            [EgressRules::new(&NetworkAccess::None), rules(&[], &[]), rules(&[], &["0.0.0.0/0"])]
        {
            let rules = rules.unwrap();
            for host in ["x.com", "localhost", "1.1.1.1", "[::1]"] {
                assert!(!admits(&rules, host, 443), "{host}");
            }
        }
    }

    #[test]
    fn a_blank_entry_is_an_error_and_not_a_hole() {
        for allow in [&[""][..], &[" "], &["x.com", ""]] {
            assert!(matches!(rules(allow, &[]), Err(EgressRuleError::Domain { .. })));
        }
        for address in ["", "localhost", "1.2.3", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "*"] {
            assert!(
                matches!(rules(&[], &[address]), Err(EgressRuleError::Address { .. })),
                "{address}"
            );
        }
    }

    #[test]
    fn other_ports_are_only_for_listed_addresses() {
        let public = rules(&["x.com"], &[]).unwrap();
        assert!(admits(&public, "x.com", 80) && admits(&public, "x.com", 443));
        assert!(!admits(&public, "x.com", 22) && !admits(&public, "x.com", 0));
        let listed = rules(&["x.com"], &["10.1.0.0/16", "::1"]).unwrap();
        let judge = |port, answers: &[&str]| {
            let answers: Vec<_> =
                answers.iter().map(|it| SocketAddr::new(it.parse().unwrap(), port)).collect();
            listed.check_addresses(port, &answers).is_ok()
        };
        assert!(judge(22, &["10.1.2.3", "::1", "::ffff:10.1.0.0"]));
        assert!(!judge(22, &["10.1.2.3", "8.8.8.8"]));
        assert!(judge(443, &["10.1.2.3", "8.8.8.8"]));
        assert!(!judge(443, &["8.8.8.8", "10.2.2.3"]));
        assert!(!judge(443, &["127.0.0.1"]));
    }

    #[test]
    fn a_range_holds_what_begins_alike() {
        let holds = |range: &str, address: &str| {
            AddressRange::parse(range).unwrap().contains(address.parse().unwrap())
        };
        assert!(holds("127.0.0.1", "127.0.0.1") && !holds("127.0.0.1", "127.0.0.2"));
        assert!(holds("10.0.0.0/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.0"));
        assert!(holds("0.0.0.0/0", "1.2.3.4") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("fd00::/8", "fdff::1") && !holds("fd00::/8", "fe00::1"));
        assert!(holds("::/0", "fe00::1"));
    }
}
