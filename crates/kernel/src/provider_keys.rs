//! The rules for provider keys: the hosts that a key may be sent to, the addresses that need trust.
//!
//! A key goes to one host. A well-known variable belongs to its provider's host, or to the host
//! that the operator sets beside it; a project's file cannot send a key elsewhere.
//!
//! Must never: see a key; the rules need names and addresses only.

use std::fmt;

/// A well-known provider: its address, and the variables that may hold its key.
#[derive(Clone, Copy, Debug)]
pub struct KeyHome {
    /// The id of the provider.
    pub id: &'static str,
    /// The variables that may hold its key; the first that is set is used.
    pub variables: &'static [&'static str],
    /// Its base URL.
    pub base_url: &'static str,
}

/// A provider of the settings, as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct ConfiguredProvider<'a> {
    /// The id in the settings.
    pub id: &'a str,
    /// The base URL that requests go to; None if there is none.
    pub base_url: Option<&'a str>,
    /// True if a setting names the base URL; else it is the usual one or the operator's variable.
    pub names_address: bool,
    /// The variables that may hold its key.
    pub variables: &'a [&'a str],
    /// True if its key is known.
    pub has_key: bool,
    /// True if it also works without a key.
    pub is_keyless: bool,
    /// The project's file that sets its address or the name of its variable, if a project does.
    pub project_file: Option<&'a str>,
}

/// The reason why a provider of the settings gets no requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderObjection {
    /// It has no address.
    NoAddress {
        /// The id in the settings.
        id: String,
    },
    /// A project would send the operator's key to a host of its own.
    ForeignAddress {
        /// The id in the settings.
        id: String,
        /// The project's file.
        file: String,
    },
    /// Its key is not set.
    NoKey {
        /// The variables that may hold it.
        variables: Vec<String>,
    },
}

impl fmt::Display for ProviderObjection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress { id } => {
                write!(f, "the settings have no address for `{id}`: set its base_url")
            }
            Self::ForeignAddress { id, file } => write!(
                f,
                "{file} sets the address of `{id}`, and keys are only sent to hosts from your own \
                 settings"
            ),
            Self::NoKey { variables } => write!(f, "{} is not set", variables.join(" or ")),
        }
    }
}

/// Returns the reason why a provider gets no requests; None if it may get them with its key.
pub fn objection(
    provider: &ConfiguredProvider<'_>,
    homes: &[KeyHome],
) -> Option<ProviderObjection> {
    let id = provider.id.to_owned();
    if provider.base_url.is_none() {
        return Some(ProviderObjection::NoAddress { id });
    }
    let foreign = provider.project_file.filter(|_| !is_key_at_home(provider, homes));
    if let (Some(file), true) = (foreign, provider.has_key) {
        return Some(ProviderObjection::ForeignAddress { id, file: file.to_owned() });
    }
    let lacks_key = !provider.has_key && !provider.variables.is_empty() && !provider.is_keyless;
    lacks_key.then(|| ProviderObjection::NoKey {
        variables: provider.variables.iter().map(|name| (*name).to_owned()).collect(),
    })
}

/// Returns true if each variable of a provider belongs to the host that requests go to.
fn is_key_at_home(provider: &ConfiguredProvider<'_>, homes: &[KeyHome]) -> bool {
    let base = provider.base_url.unwrap_or_default();
    provider.variables.iter().all(|variable| {
        homes.iter().filter(|home| home.variables.contains(variable)).any(|home| {
            let own = home.id == provider.id && !provider.names_address;
            own || same_host(base, home.base_url)
        })
    })
}

/// Returns true if a provider that a project names needs the owner's trust. It does unless its
/// address is one of the owner's, or nothing is sent there because the usual key is not set.
pub fn needs_trust(
    provider: &ConfiguredProvider<'_>,
    owners: &[String],
    homes: &[KeyHome],
) -> bool {
    let Some(url) = provider.base_url else { return false };
    if owners.iter().any(|one| same_address(one, url)) {
        return false;
    }
    let is_usual = |variable: &&str| {
        let mut all = homes.iter().filter(|home| home.variables.contains(variable));
        all.any(|home| same_address(home.base_url, url))
    };
    let waits_for_a_key = !provider.variables.is_empty()
        && provider.variables.iter().all(is_usual)
        && !provider.has_key;
    !waits_for_a_key
}

/// Returns true if two URLs have the same host and port.
pub fn same_host(one: &str, other: &str) -> bool {
    let host = |url: &str| {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase()
    };
    host(one) == host(other)
}

/// Returns true if two addresses are equal, apart from a slash at the end.
fn same_address(one: &str, other: &str) -> bool {
    one.trim().trim_end_matches('/') == other.trim().trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOMES: [KeyHome; 2] = [
        KeyHome { id: "one", variables: &["ONE_KEY"], base_url: "https://one.example/v1" },
        KeyHome { id: "two", variables: &["TWO_KEY"], base_url: "https://two.example" },
    ];

    const ONE: ConfiguredProvider<'static> = ConfiguredProvider {
        id: "one",
        base_url: Some("https://one.example/v1"),
        names_address: false,
        variables: &["ONE_KEY"],
        has_key: true,
        is_keyless: false,
        project_file: None,
    };

    const ELSEWHERE: ConfiguredProvider<'static> = ConfiguredProvider {
        base_url: Some("https://elsewhere.example"),
        names_address: true,
        ..ONE
    };

    #[track_caller]
    fn check(provider: ConfiguredProvider<'_>, expected: Option<&str>) {
        let objection = objection(&provider, &HOMES).map(|objection| objection.to_string());
        assert_eq!(objection.as_deref(), expected, "{provider:?}");
    }

    #[test]
    fn a_key_goes_only_to_the_host_of_its_variable_if_a_project_names_the_address() {
        let file = Some("agentry.toml");
        let refused = "agentry.toml sets the address of `one`, and keys are only sent to hosts from \
                       your own settings";
        check(ONE, None);
        check(ELSEWHERE, None);
        check(ConfiguredProvider { project_file: file, ..ELSEWHERE }, Some(refused));
        let path = Some("https://ONE.example/v2?a");
        check(ConfiguredProvider { project_file: file, base_url: path, ..ELSEWHERE }, None);
        // The operator's own variable moves the provider, with its key.
        check(ConfiguredProvider { project_file: file, names_address: false, ..ELSEWHERE }, None);
        // The key of another provider stays at that provider.
        let other = ConfiguredProvider { variables: &["TWO_KEY"], project_file: file, ..ONE };
        check(other, Some(refused));
        // A variable that no provider is known for belongs to no host.
        let unknown = ConfiguredProvider { variables: &["X"], project_file: file, ..ONE };
        check(unknown, Some(refused));
        let suffix = Some("https://one.example.evil/v1");
        check(
            ConfiguredProvider { project_file: file, base_url: suffix, ..ELSEWHERE },
            Some(refused),
        );
    }

    #[test]
    fn a_provider_needs_an_address_and_a_key() {
        check(
            ConfiguredProvider { base_url: None, ..ONE },
            Some("the settings have no address for `one`: set its base_url"),
        );
        let lacking = ConfiguredProvider { has_key: false, variables: &["A", "B"], ..ONE };
        check(lacking, Some("A or B is not set"));
        check(ConfiguredProvider { is_keyless: true, ..lacking }, None);
        check(ConfiguredProvider { variables: &[], ..lacking }, None);
    }

    #[test]
    fn an_address_of_a_project_needs_trust_unless_it_is_the_owners_or_gets_nothing() {
        let owners = vec!["https://own.example/".to_owned()];
        let needs = |provider| needs_trust(&provider, &owners, &HOMES);
        assert!(needs(ELSEWHERE));
        assert!(needs(ConfiguredProvider { has_key: false, ..ELSEWHERE }));
        assert!(!needs(ConfiguredProvider { base_url: Some("https://own.example"), ..ELSEWHERE }));
        assert!(!needs(ConfiguredProvider { base_url: None, ..ELSEWHERE }));
        assert!(needs(ONE));
        assert!(!needs(ConfiguredProvider { has_key: false, ..ONE }));
        assert!(needs(ConfiguredProvider { has_key: false, variables: &[], ..ONE }));
    }
}
