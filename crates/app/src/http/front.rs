//! What a request must be before it is looked at: for this server, from a page of ours or from none, and from
//! somebody who is known.
//!
//! Must never: decide by anything that a page of somebody else could have written.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use agentry_protocol::token::TokenKind;
use axum::http::{HeaderMap, Method, header};

use super::auth::{Caller, Keys};
use super::refusal::{Code, Refusal};
use super::table::Need;
use crate::limits::{
    COUNTED_CALLERS_MAX, REQUESTS_BURST, REQUESTS_PER_SECOND, WRONG_KEYS_PER_MINUTE,
    WRONG_KEYS_TOLD_TIME_MIN,
};
use crate::verb::say;

/// The header that no page of somebody else can send without asking us first.
pub(crate) const OURS: &str = "x-agentry";

/// How the server is reached.
pub(crate) struct Front {
    /// The names it answers to, each with its port.
    pub(crate) hosts: Vec<String>,
    /// Whether nobody is asked for a key.
    pub(crate) is_insecure: bool,
    /// Whether what it says goes encrypted, here or at the proxy before it.
    pub(crate) is_encrypted: bool,
    /// What the cookie is called; other servers of this machine have other ports.
    pub(crate) cookie: String,
    pub(crate) rates: Rates,
}

impl Front {
    /// That a request is for this server, and from no page of somebody else.
    pub(crate) fn admit(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = one(headers, header::HOST.as_str());
        if !host.is_some_and(|host| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)))
        {
            let message = match host {
                Some(host) => format!("this server is not called `{host}`"),
                None => "the request does not say which server it is for".to_owned(),
            };
            let names = self.hosts.join(", ");
            return Err(Refusal::new(Code::WrongHost, message)
                .hint(format!("it is called {names}; name others with `agentry serve --host`")));
        }
        let foreign = || Refusal::new(Code::Csrf, "the request comes from a page of somebody else");
        if headers.contains_key(header::ORIGIN) {
            let scheme = if self.is_encrypted { "https" } else { "http" };
            let own = host.map(|host| format!("{scheme}://{host}"));
            if one(headers, header::ORIGIN.as_str()).map(str::to_owned) != own {
                return Err(foreign());
            }
        }
        let site = one(headers, "sec-fetch-site");
        let is_page = method == Method::GET && one(headers, "sec-fetch-mode") == Some("navigate");
        match site {
            Some("cross-site" | "same-site") if !is_page => Err(foreign()),
            _ => Ok(()),
        }
    }

    /// Who calls, as far as the route asks for it.
    pub(crate) fn caller(
        &self,
        keys: &Keys,
        (method, headers): (&Method, &HeaderMap),
        need: Need,
        peer: IpAddr,
    ) -> Result<Caller, Refusal> {
        if need == Need::Nobody {
            self.must_be_ours(method, headers)?;
            self.rates.wrong_key_room(peer)?;
            return Ok(Caller::nobody());
        }
        if need == Need::Signed && !self.has_key(headers) {
            self.rates.wrong_key_room(peer)?;
            self.rates.request(&peer.to_string())?;
            return Ok(Caller::nobody());
        }
        let caller = self.identified(keys, method, headers, peer)?;
        self.rates.request(&caller.name())?;
        match need {
            Need::Key | Need::Signed | Need::Nobody => Ok(caller),
            Need::Owner(scope) if !caller.is_owner() => Err(forbidden(scope.as_str())
                .hint("only the owner may; a policy can let others talk to agents")),
            Need::Owner(scope) | Need::Anybody(scope) if !caller.may(scope) => {
                let hint = format!("make a key with `agentry token create --scope {scope}`");
                Err(forbidden(scope.as_str()).hint(hint))
            }
            Need::Owner(_) | Need::Anybody(_) => Ok(caller),
        }
    }

    /// Whether a request has a key, or needs none.
    fn has_key(&self, headers: &HeaderMap) -> bool {
        self.is_insecure || headers.contains_key(header::AUTHORIZATION)
    }

    fn identified(
        &self,
        keys: &Keys,
        method: &Method,
        headers: &HeaderMap,
        peer: IpAddr,
    ) -> Result<Caller, Refusal> {
        let found = if let Some(text) = bearer(headers)? {
            keys.caller(text, TokenKind::Bearer)
        } else if let Some(text) = self.cookie_of(headers) {
            self.must_be_ours(method, headers)?;
            keys.caller(text, TokenKind::Cookie)
        } else if self.is_insecure {
            self.must_be_ours_if_a_browser(method, headers)?;
            return Ok(Caller::unasked());
        } else {
            return Err(Refusal::new(Code::Unauthenticated, "the request has no key")
                .hint("send `Authorization: Bearer KEY`; `agentry token create` makes one"));
        };
        if found.as_ref().is_err_and(|refusal| refusal.code == Code::Unauthenticated) {
            self.rates.wrong_key(peer)?;
        }
        found
    }

    /// What a browser sends by itself is not enough to change something.
    fn must_be_ours(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        if method == Method::GET {
            return Ok(());
        }
        if headers.contains_key(OURS) && headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        Err(Refusal::new(Code::Csrf, "the request may come from a page of somebody else")
            .hint("send the headers `X-Agentry: 1` and `Origin`, as the console does"))
    }

    fn must_be_ours_if_a_browser(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<(), Refusal> {
        let is_browser =
            headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site");
        if is_browser { self.must_be_ours(method, headers) } else { Ok(()) }
    }

    fn cookie_of<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let all = headers.get_all(header::COOKIE).into_iter();
        let pairs = all.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(';'));
        let named = pairs.filter_map(|pair| pair.trim().split_once('='));
        let mut found = named.filter(|(name, _)| *name == self.cookie).map(|(_, value)| value);
        // Two of the same name: somebody put one there, and nobody can say which.
        let first = found.next();
        first.filter(|_| found.next().is_none())
    }

    /// What the browser is told to keep.
    pub(crate) fn set_cookie(&self, value: &str, seconds: u64) -> String {
        let secure = if self.is_encrypted { "; Secure" } else { "" };
        let name = &self.cookie;
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
    }
}

fn forbidden(scope: &str) -> Refusal {
    Refusal::new(Code::Forbidden, format!("this key does not open `{scope}`"))
}

/// A header that is there exactly once.
pub(crate) fn one<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut all = headers.get_all(name).into_iter();
    let first = all.next().filter(|_| all.next().is_none())?;
    first.to_str().ok()
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    if !headers.contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    let text = one(headers, header::AUTHORIZATION.as_str());
    let key = text.and_then(|text| text.split_once(' '));
    let key =
        key.filter(|(word, _)| word.eq_ignore_ascii_case("bearer")).map(|(_, key)| key.trim());
    key.map(Some).ok_or_else(|| {
        Refusal::new(Code::Unauthenticated, "the header Authorization holds no key")
            .hint("write `Authorization: Bearer agt_…`")
    })
}

/// How often each may call.
#[derive(Default)]
pub(crate) struct Rates {
    callers: Mutex<HashMap<String, Bucket>>,
    wrong: Mutex<HashMap<IpAddr, Bucket>>,
    /// How many wrong keys there were since the server began.
    wrong_count: AtomicU64,
    /// When the operator was last told that somebody shows one wrong key after the other.
    told: Mutex<Option<Instant>>,
}

/// Fills up with time, and is emptied by requests.
#[derive(Clone, Copy)]
struct Bucket {
    level: f64,
    at: Instant,
}

impl Bucket {
    fn full(size: u32, now: Instant) -> Self {
        Self { level: f64::from(size), at: now }
    }

    fn refilled(self, (size, per_second): (u32, f64), now: Instant) -> Self {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        let level = (self.level + since * per_second).min(f64::from(size));
        Self { level, at: now }
    }

    /// Takes one, or says after how many seconds there is one.
    fn take(&mut self, size: (u32, f64), now: Instant) -> Result<(), u64> {
        *self = self.refilled(size, now);
        if self.level >= 1.0 {
            self.level -= 1.0;
            return Ok(());
        }
        Err(((1.0 - self.level) / size.1).ceil().clamp(1.0, 3_600.0) as u64)
    }
}

impl Rates {
    fn request(&self, name: &str) -> Result<(), Refusal> {
        let size = (REQUESTS_BURST, f64::from(REQUESTS_PER_SECOND));
        take(&self.callers, name.to_owned(), size)
    }

    /// A wrong key, code or signature was shown.
    pub(crate) fn wrong_key(&self, peer: IpAddr) -> Result<(), Refusal> {
        self.wrong_count.fetch_add(1, Ordering::Relaxed);
        take(&self.wrong, peer, wrong_size()).inspect_err(|_| self.tell(peer))
    }

    /// How many wrong keys there were since the server began.
    pub(crate) fn wrong_keys(&self) -> u64 {
        self.wrong_count.load(Ordering::Relaxed)
    }

    fn tell(&self, peer: IpAddr) {
        let now = Instant::now();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|at| now.duration_since(at) >= WRONG_KEYS_TOLD_TIME_MIN) {
            *told = Some(now);
            let count = self.wrong_keys();
            say(&format!(
                "{peer} shows one wrong key after the other and must wait ({count} so far)"
            ));
        }
    }

    /// Whether an address may show another key.
    fn wrong_key_room(&self, peer: IpAddr) -> Result<(), Refusal> {
        let mut all = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bucket) = all.get_mut(&peer) else { return Ok(()) };
        let mut seen = *bucket;
        seen.take(wrong_size(), Instant::now()).map_err(limited)
    }
}

fn wrong_size() -> (u32, f64) {
    (WRONG_KEYS_PER_MINUTE, f64::from(WRONG_KEYS_PER_MINUTE) / 60.0)
}

fn take<K: Eq + std::hash::Hash>(
    all: &Mutex<HashMap<K, Bucket>>,
    name: K,
    size: (u32, f64),
) -> Result<(), Refusal> {
    let now = Instant::now();
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() >= COUNTED_CALLERS_MAX {
        let full = |bucket: &Bucket| bucket.refilled(size, now).level >= f64::from(size.0);
        all.retain(|_, bucket| !full(bucket));
    }
    let bucket = all.entry(name).or_insert_with(|| Bucket::full(size.0, now));
    bucket.take(size, now).map_err(limited)
}

fn limited(seconds: u64) -> Refusal {
    Refusal {
        retry_after: Some(seconds),
        ..Refusal::new(Code::RateLimited, "there were too many requests")
            .hint(format!("try again in {seconds} s"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_is_emptied_by_requests_and_filled_by_time() {
        let (size, begin) = ((2, 1.0), Instant::now());
        let mut bucket = Bucket::full(2, begin);
        assert_eq!([0; 3].map(|_| bucket.take(size, begin)), [Ok(()), Ok(()), Err(1)]);
        assert_eq!(bucket.take(size, begin + Duration::from_secs(1)), Ok(()));
        assert_eq!(bucket.take(size, begin + Duration::from_secs(1)), Err(1));
    }
}
