//! Host names, compared by whole labels.
//!
//! Must never: treat two names as equal because their texts end alike.

/// Returns true if a text is a valid host name, with or without a leading `*.`.
pub(super) fn is_hostname(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '*')
}

/// Returns the name in lower case, without a trailing dot.
pub(super) fn normalized(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Returns the intersection of a pattern with others: itself if one of them covers it, and those
/// that it covers.
pub(super) fn intersection(asked: &str, allowed: &[String]) -> Vec<String> {
    let asked = normalized(asked);
    let allowed: Vec<String> = allowed.iter().map(|one| normalized(one)).collect();
    if allowed.iter().any(|one| covers(one, &asked)) {
        return vec![asked];
    }
    allowed.into_iter().filter(|one| covers(&asked, one)).collect()
}

/// Returns true if the first pattern matches every name that the second one matches.
pub(super) fn covers(wide: &str, narrow: &str) -> bool {
    let Some(above) = wide.strip_prefix("*.") else { return wide == narrow };
    let narrow = narrow.strip_prefix("*.").map_or(narrow, |rest| {
        // `*.x` is within `*.x`; any other `*.y` is within it if `y` is below `x`.
        if rest == above { wide } else { rest }
    });
    narrow == wide
        || narrow.strip_suffix(above).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_compared_whole() {
        for (wide, narrow, expected) in [
            ("x.com", "x.com", true),
            ("x.com", "a.x.com", false),
            ("*.x.com", "a.x.com", true),
            ("*.x.com", "a.b.x.com", true),
            ("*.x.com", "x.com", false),
            ("*.x.com", "ax.com", false),
            ("*.x.com", ".x.com", false),
            ("*.x.com", "*.x.com", true),
            ("*.x.com", "*.a.x.com", true),
            ("*.a.x.com", "*.x.com", false),
            ("x.com", "*.x.com", false),
            ("*.com", "*.x.com", true),
            ("*.x.com", "x.com.evil.org", false),
        ] {
            assert_eq!(covers(wide, narrow), expected, "{wide} covers {narrow}");
        }
    }

    #[test]
    fn the_narrower_of_two_is_common() {
        let allowed = ["*.GitHub.com".to_owned(), "x.com".to_owned()];
        assert_eq!(intersection("api.github.com.", &allowed), ["api.github.com"]);
        assert_eq!(intersection("*.com", &allowed), ["*.github.com", "x.com"]);
        assert_eq!(intersection("github.com", &allowed), [""; 0]);
    }

    #[test]
    fn a_blank_is_no_name() {
        assert!(is_hostname("x") && is_hostname("*.x"));
        for bad in ["", " ", "*", "*.", "a b", "a\0b", "*.*.x"] {
            assert!(!is_hostname(bad), "{bad:?}");
        }
    }
}
