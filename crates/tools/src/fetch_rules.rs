//! The hosts that a fetch may reach.
//!
//! Must never: resolve a name or open a connection; `fetch` does both.

use std::collections::BTreeSet;
use std::net::IpAddr;

use agentry_protocol::confinement::NetworkAccess;
use agentry_sandbox::egress::EgressRules;

/// Hosts that may be fetched although their addresses are not public, and limits on others.
#[derive(Clone, Debug, Default)]
pub struct FetchRules {
    allow: BTreeSet<String>,
    /// The only allowed hosts; None means all public hosts.
    hosts: Option<EgressRules>,
}

impl FetchRules {
    /// Allows these hosts, each as `host:port` as in URLs: `localhost:8080`, `[::1]:80`.
    pub fn allowing<T: Into<String>>(hosts: impl IntoIterator<Item = T>) -> Self {
        let allow = hosts.into_iter().map(|host| host.into().to_lowercase()).collect();
        Self { allow, hosts: None }
    }

    /// Allows only the hosts that a confinement can reach. An invalid list allows none.
    #[must_use]
    pub fn within(self, network: &NetworkAccess) -> Self {
        let none = || EgressRules::new(&NetworkAccess::None).expect("no list is a list");
        Self { hosts: Some(EgressRules::new(network).unwrap_or_else(|_| none())), ..self }
    }

    /// Returns the reason why a host is refused, or None.
    pub(crate) fn refuses(&self, host: &str, port: u16) -> Option<String> {
        let hosts = self.hosts.as_ref().filter(|_| !self.allows(host, port))?;
        hosts.allows(host, port).err()
    }

    pub(crate) fn counts_as_public(&self, address: IpAddr) -> bool {
        self.hosts.as_ref().is_some_and(|hosts| hosts.counts_as_public(address))
    }

    pub(crate) fn allows(&self, host: &str, port: u16) -> bool {
        self.allow.contains(&format!("{host}:{port}"))
    }
}
