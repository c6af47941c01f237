//! Which hosts are listed, and which words look like the name of a host.
//!
//! Must never: take a name for listed that is not, whatever stands around it.

/// Hosts that may be linked to.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkHosts {
    names: Vec<String>,
    /// Everything below these.
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

    /// Whether a host is listed. A name with a sign that no plain name has is never listed.
    pub(super) fn has(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        host.chars().all(is_plain)
            && (self.names.contains(&host) || self.below.iter().any(|name| host.ends_with(name)))
    }

    /// Whether an authority (`host` or `host:443`) is listed.
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

/// What stands behind a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostSuffix {
    /// A path or a query.
    Path,
    /// The same, where only known endings count.
    CertainPath,
    /// Anything else.
    Nothing,
}

/// Whether clients would take a name without a scheme for an address.
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
    // `x.com-y` is taken for `x.com` by some.
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

/// Signs that count as a dot in the name of a host.
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

/// Names such as `main.rs` are files far more often than hosts, and carry nothing.
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

/// The others that are much used, and those that clients know of.
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
