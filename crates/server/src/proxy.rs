//! The client's address when proxies stand in front of the server.
//!
//! Each proxy appends the address of its peer to `X-Forwarded-For`. The list is read from the
//! right, as long as the proxies are trusted; entries left of the first untrusted address may be
//! forged.
//!
//! Must never: trust the header of a peer that is not a trusted proxy.

use std::net::IpAddr;
use std::str::FromStr;

use axum::http::HeaderMap;

use crate::limits::FORWARDED_HOPS_MAX;

const FORWARDED: &str = "x-forwarded-for";

/// A network in CIDR form; a single address is a network of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyNetwork {
    address: IpAddr,
    /// The number of significant leading bits.
    bits: u32,
}

impl ProxyNetwork {
    fn has(&self, address: IpAddr) -> bool {
        let shift = |width: u32| width - self.bits;
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.checked_shr(shift(u32::BITS)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.checked_shr(shift(u128::BITS)).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl FromStr for ProxyNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not an address such as 10.0.0.7 or a network such as 10.0.0.0/8")
        };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let width = if address.is_ipv4() { u32::BITS } else { u128::BITS };
        let bits = bits.unwrap_or(width);
        if bits > width {
            return Err(wrong());
        }
        Ok(Self { address, bits })
    }
}

/// The networks of proxies whose `X-Forwarded-For` counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrustedProxies(Vec<ProxyNetwork>);

impl TrustedProxies {
    /// Returns the given networks, or the loopback addresses if there are none.
    pub(crate) fn new(named: &[ProxyNetwork]) -> Self {
        if !named.is_empty() {
            return Self(named.to_vec());
        }
        let own = ["127.0.0.0/8", "::1"].map(|text| text.parse().expect("both are networks"));
        Self(own.to_vec())
    }

    /// Returns the client's address: the first from the right that is not a trusted proxy. An
    /// unreadable entry counts as the proxy that sent it.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut nearest = peer;
        let all = headers.get_all(FORWARDED).iter().rev();
        let hops = all.flat_map(|value| {
            let text = value.to_str().unwrap_or("?");
            text.rsplit(',').map(str::trim).collect::<Vec<_>>()
        });
        for hop in hops.take(FORWARDED_HOPS_MAX) {
            if !self.is_trusted(nearest) {
                return nearest;
            }
            match address(hop) {
                Some(address) => nearest = address,
                None => return nearest,
            }
        }
        nearest
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.has(address))
    }
}

/// Parses an address with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let plain: Option<IpAddr> = text.parse().ok();
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip());
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    plain.or_else(with_port).or_else(in_brackets).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(trusted: &[&str], peer: &str, forwarded: &[&str]) -> String {
        let named: Vec<ProxyNetwork> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED, value.parse().unwrap());
        }
        TrustedProxies::new(&named).client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn the_word_of_a_trusted_proxy_is_read_from_the_right() {
        let none: [&str; 0] = [];
        for (trusted, peer, forwarded, expected) in [
            (&none[..], "127.0.0.1", &["1.2.3.4"][..], "1.2.3.4"),
            (&none[..], "127.0.0.1", &[][..], "127.0.0.1"),
            // A peer that is not a proxy can write anything.
            (&none[..], "9.9.9.9", &["1.2.3.4"][..], "9.9.9.9"),
            (&["10.0.0.0/8"][..], "127.0.0.1", &["1.2.3.4"][..], "127.0.0.1"),
            // The client's own entries are left of the proxy's.
            (&none[..], "127.0.0.1", &["6.6.6.6, 1.2.3.4"][..], "1.2.3.4"),
            (&none[..], "127.0.0.1", &["6.6.6.6", "1.2.3.4"][..], "1.2.3.4"),
            // Two proxies.
            (
                &["127.0.0.1", "10.0.0.0/8"][..],
                "127.0.0.1",
                &["6.6.6.6, 1.2.3.4, 10.1.1.1"][..],
                "1.2.3.4",
            ),
            (&["10.0.0.0/8"][..], "10.0.0.9", &["10.0.0.1, 10.0.0.2"][..], "10.0.0.1"),
            // An unreadable entry counts as the proxy.
            (&none[..], "127.0.0.1", &["1.2.3.4, unknown"][..], "127.0.0.1"),
            (&none[..], "127.0.0.1", &["1.2.3.4,"][..], "127.0.0.1"),
            (&none[..], "127.0.0.1", &["1.2.3.4:80"][..], "1.2.3.4"),
            (&none[..], "127.0.0.1", &["[2001:db8::1]:80"][..], "2001:db8::1"),
            (&none[..], "127.0.0.1", &["::ffff:1.2.3.4"][..], "1.2.3.4"),
            (&["2001:db8::/32"][..], "2001:db8::7", &["2001:db9::1"][..], "2001:db9::1"),
            (&["0.0.0.0/0"][..], "9.9.9.9", &["1.2.3.4"][..], "1.2.3.4"),
        ] {
            assert_eq!(client(trusted, peer, forwarded), expected, "{peer} {forwarded:?}");
        }
    }

    #[test]
    fn only_addresses_and_networks_name_a_proxy() {
        for text in ["10.0.0.1", "10.0.0.0/8", "::1", "fc00::/7", "0.0.0.0/0"] {
            assert!(text.parse::<ProxyNetwork>().is_ok(), "{text}");
        }
        for text in ["", "localhost", "10.0.0.0/33", "::1/129", "10.0.0.1/x", "10.0.0.1/"] {
            assert!(text.parse::<ProxyNetwork>().is_err(), "{text}");
        }
    }
}
