//! Tells public network addresses from all others.
//!
//! Every form in which an address can hold another is decoded: mapped, translated, tunnelled.
//!
//! Must never: take an address for public because it has no name here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A cloud provider's server that serves settings to its machines.
const METADATA_AMONG_PUBLIC: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// Returns the reason why an address must not be reached; None when it is public.
pub fn refusal(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => refusal_v4(address),
        IpAddr::V6(address) => refusal_v6(address),
    }
}

fn refusal_v4(address: Ipv4Addr) -> Option<&'static str> {
    if address == METADATA_AMONG_PUBLIC {
        return Some("a link-local or metadata address");
    }
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (0, ..) => Some("an unspecified address"),
        (10, ..) | (192, 168, _) => Some("a private address"),
        (172, 16..=31, _) => Some("a private address"),
        (100, 64..=127, _) => Some("a shared address of a provider"),
        (127, ..) => Some("an address of this machine"),
        (169, 254, _) => Some("a link-local or metadata address"),
        (192, 0, 0) | (198, 18..=19, _) => Some("a reserved address"),
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => Some("an address for documents"),
        (192, 88, 99) => Some("an address of a relay"),
        (224..=239, ..) => Some("a multicast address"),
        (240..=255, ..) => Some("a reserved or broadcast address"),
        _ => None,
    }
}

fn refusal_v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        refusal_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("an unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("an address of this machine"),
        [0, 0, 0, 0, 0, 0, ..] => Some("an address of an abandoned form"),
        [0, 0, 0, 0, 0, 0xffff, high, low] => embedded(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2001, 0xdb8, ..] => Some("an address for documents"),
        [0x3fff, 0..=0x0fff, ..] => Some("an address for documents"),
        // Teredo hides an address in here, and the rest is reserved.
        [0x2001, 0..=0x01ff, ..] => Some("a tunnelled or reserved address"),
        [0x2002, high, low, ..] => embedded(high, low),
        // An interface that carries an address of the other kind (ISATAP).
        [0x2000..=0x3fff, _, _, _, 0 | 0x0200, 0x5efe, high, low] => embedded(high, low),
        [0x2000..=0x3fff, ..] => None,
        [0xfe80..=0xfebf, ..] => Some("a link-local address"),
        [0xfc00..=0xfdff, ..] => Some("a private address"),
        [0xff00..=0xffff, ..] => Some("a multicast address"),
        _ => Some("an address outside the public network"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_public_is_refused_in_every_form() {
        for address in [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "::ffff:168.63.129.16",
            "64:ff9b::a83f:8110",
            "2002:a83f:8110::1",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.0.0.8",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.255.255",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2002:a9fe:a9fe::",
            "3fff::1",
            "2606:4700::5efe:7f00:1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "5f00::1",
        ] {
            assert!(refusal(address.parse().unwrap()).is_some(), "{address}");
        }
    }

    #[test]
    fn what_is_public_is_not_refused() {
        for address in [
            "8.8.8.8",
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.1",
            "168.63.129.15",
            "168.63.129.17",
            "172.15.0.1",
            "172.32.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert_eq!(refusal(address.parse().unwrap()), None, "{address}");
        }
    }
}
