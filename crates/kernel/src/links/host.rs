//! The list of allowed hosts, and the test whether a word looks like a host name.
//!
//! Must never: treat an unlisted name as listed, in any surroundings.

/// The hosts that may be linked to.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkHosts {
    names: Vec<String>,
    /// Domains; every name below them is listed.
    below: Vec<String>,
}

impl LinkHosts {
    pub(super) fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hosts = Self::default();
        for pattern in patterns {
            let pattern = pattern.trim_end_matches('.').to_lowercase();
            match pattern.strip_prefix("*.") {
                Some(name) => hosts.below.push(format!(".{name}")),
                None => hosts.names.push(pattern),
            }
        }
        hosts
    }

    /// Returns true if a host is listed. A name with an unusual character is never listed.
    pub(super) fn has(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        host.chars().all(is_plain)
            && (self.names.contains(&host) || self.below.iter().any(|name| host.ends_with(name)))
    }

    /// Returns true if an authority (`host` or `host:443`) is listed.
    pub(super) fn has_authority(&self, authority: &str) -> bool {
        match authority.split_once(':') {
            Some((host, port)) => is_port(port) && self.has(host),
            None => self.has(authority),
        }
    }
}

fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The text that follows a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostSuffix {
    /// A path or a query.
    Path,
    /// A path or a query, where only known top-level domains count.
    CertainPath,
    /// Any other text, or the end.
    Nothing,
}

/// Returns true if clients would treat a name without a scheme as an address.
pub(super) fn looks_like_a_host(name: &str, behind: HostSuffix) -> bool {
    let labels: Vec<&str> = name.split(is_dot).collect();
    let (before, rest) = (&labels[..labels.len() - 1], &labels[1..]);
    let is_www = |label: &&str| {
        label.rsplit(['-', '_']).next().is_some_and(|end| end.eq_ignore_ascii_case("www"))
    };
    let is_address = behind != HostSuffix::Nothing && is_ip_address(&labels);
    if before.iter().any(is_www) || is_address {
        return true;
    }
    // Some clients read `x.com-y` as `x.com`.
    let mut ends = rest.iter().map(|label| match label.get(..4) {
        Some(start) if start.eq_ignore_ascii_case("xn--") => *label,
        Some(_) | None => label.split(['-', '_']).next().unwrap_or_default(),
    });
    match behind {
        HostSuffix::Path => ends.any(|end| end.starts_with("xn--") || could_end_a_name(end)),
        HostSuffix::CertainPath => ends.any(ends_names),
        HostSuffix::Nothing if rest.len() == 1 => {
            ends.any(|end| ends_names(end) && !ends_files(end))
        }
        HostSuffix::Nothing => ends.any(ends_names),
    }
}

/// Returns true for characters that count as a dot in a host name.
pub(super) fn is_dot(c: char) -> bool {
    matches!(c, '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}')
}

fn is_ip_address(labels: &[&str]) -> bool {
    labels.len() == 4 && labels.iter().all(|label| label.parse::<u8>().is_ok())
}

fn could_end_a_name(end: &str) -> bool {
    end.chars().count() >= 2 && end.chars().all(char::is_alphabetic)
}

fn ends_names(end: &str) -> bool {
    let end = end.to_lowercase();
    end.starts_with("xn--") || COUNTRIES.contains(&end.as_str()) || GENERIC.contains(&end.as_str())
}

/// Names such as `main.rs` are far more often files than hosts, and carry no data.
fn ends_files(end: &str) -> bool {
    FILES.contains(&end.to_ascii_lowercase().as_str())
}

const FILES: [&str; 25] = [
    "ai", "am", "app", "as", "bz", "cc", "gz", "in", "la", "md", "mk", "ml", "mm", "mov", "pl",
    "pm", "ps", "py", "rs", "sc", "sh", "so", "st", "vi", "zip",
];

const COUNTRIES: [&str; 248] = [
    "ac", "ad", "ae", "af", "ag", "ai", "al", "am", "ao", "aq", "ar", "as", "at", "au", "aw", "ax",
    "az", "ba", "bb", "bd", "be", "bf", "bg", "bh", "bi", "bj", "bm", "bn", "bo", "br", "bs", "bt",
    "bv", "bw", "by", "bz", "ca", "cc", "cd", "cf", "cg", "ch", "ci", "ck", "cl", "cm", "cn", "co",
    "cr", "cu", "cv", "cw", "cx", "cy", "cz", "de", "dj", "dk", "dm", "do", "dz", "ec", "ee", "eg",
    "er", "es", "et", "eu", "fi", "fj", "fk", "fm", "fo", "fr", "ga", "gb", "gd", "ge", "gf", "gg",
    "gh", "gi", "gl", "gm", "gn", "gp", "gq", "gr", "gs", "gt", "gu", "gw", "gy", "hk", "hm", "hn",
    "hr", "ht", "hu", "id", "ie", "il", "im", "in", "io", "iq", "ir", "is", "it", "je", "jm", "jo",
    "jp", "ke", "kg", "kh", "ki", "km", "kn", "kp", "kr", "kw", "ky", "kz", "la", "lb", "lc", "li",
    "lk", "lr", "ls", "lt", "lu", "lv", "ly", "ma", "mc", "md", "me", "mg", "mh", "mk", "ml", "mm",
    "mn", "mo", "mp", "mq", "mr", "ms", "mt", "mu", "mv", "mw", "mx", "my", "mz", "na", "nc", "ne",
    "nf", "ng", "ni", "nl", "no", "np", "nr", "nu", "nz", "om", "pa", "pe", "pf", "pg", "ph", "pk",
    "pl", "pm", "pn", "pr", "ps", "pt", "pw", "py", "qa", "re", "ro", "rs", "ru", "rw", "sa", "sb",
    "sc", "sd", "se", "sg", "sh", "si", "sj", "sk", "sl", "sm", "sn", "so", "sr", "ss", "st", "su",
    "sv", "sx", "sy", "sz", "tc", "td", "tf", "tg", "th", "tj", "tk", "tl", "tm", "tn", "to", "tr",
    "tt", "tv", "tw", "tz", "ua", "ug", "uk", "us", "uy", "uz", "va", "vc", "ve", "vg", "vi", "vn",
    "vu", "wf", "ws", "ye", "yt", "za", "zm", "zw",
];

/// Other common domains, and those that clients recognize.
const GENERIC: [&str; 154] = [
    "academy",
    "agency",
    "app",
    "art",
    "asia",
    "auction",
    "audio",
    "band",
    "bar",
    "beauty",
    "best",
    "bet",
    "bid",
    "bike",
    "biz",
    "blog",
    "boats",
    "boutique",
    "build",
    "business",
    "buzz",
    "cafe",
    "cam",
    "camp",
    "capital",
    "car",
    "cards",
    "care",
    "casa",
    "cash",
    "casino",
    "cat",
    "center",
    "chat",
    "church",
    "city",
    "click",
    "cloud",
    "club",
    "coffee",
    "com",
    "company",
    "cool",
    "coop",
    "cyou",
    "date",
    "dating",
    "dev",
    "digital",
    "directory",
    "domains",
    "download",
    "edu",
    "email",
    "energy",
    "events",
    "exchange",
    "expert",
    "express",
    "fashion",
    "finance",
    "fit",
    "fun",
    "fund",
    "games",
    "global",
    "gov",
    "group",
    "guru",
    "hair",
    "health",
    "help",
    "homes",
    "host",
    "hosting",
    "icu",
    "info",
    "ink",
    "institute",
    "int",
    "jobs",
    "land",
    "lat",
    "law",
    "lawyer",
    "life",
    "link",
    "live",
    "loan",
    "lol",
    "love",
    "ltd",
    "makeup",
    "market",
    "marketing",
    "mba",
    "media",
    "men",
    "mil",
    "mobi",
    "mom",
    "monster",
    "mov",
    "museum",
    "name",
    "net",
    "network",
    "news",
    "ninja",
    "one",
    "onion",
    "online",
    "org",
    "page",
    "party",
    "photos",
    "pics",
    "plus",
    "press",
    "pro",
    "quest",
    "rest",
    "review",
    "rocks",
    "run",
    "sbs",
    "services",
    "shop",
    "site",
    "social",
    "space",
    "store",
    "stream",
    "studio",
    "systems",
    "team",
    "tech",
    "tel",
    "today",
    "top",
    "trade",
    "travel",
    "vip",
    "website",
    "wiki",
    "win",
    "work",
    "world",
    "wtf",
    "xin",
    "xyz",
    "zip",
    "zone",
    "рф",
];
