//! The checks of a request before its handler runs: host name, origin, key, scope and rate limit.
//!
//! Must never: decide by a header that a web page of another site can set.

use std::net::IpAddr;

use agentry_protocol::token::TokenKind;
use axum::http::{HeaderMap, Method, header};

use super::api_error::{ApiError, ApiErrorCode};
use super::auth::{self, Authenticator, Caller};
use super::header_value::single_header;
use super::proxy::TrustedProxies;
use super::rate_limit::RateLimiter;
use super::route_access::RouteAccess;

/// A header that a page of another site cannot send without a CORS preflight, which we never allow.
pub(crate) const OURS: &str = "x-agentry";

/// The checks of all requests, and the settings behind them.
pub struct RequestGuard {
    /// The accepted values of the `Host` header, with ports.
    pub(crate) hosts: Vec<String>,
    /// True if no key is required (`--insecure-loopback`).
    pub is_insecure: bool,
    /// True if clients use HTTPS, to this server or to a proxy in front of it.
    pub(crate) is_encrypted: bool,
    /// The name of the cookie; it has the port, since cookies are shared by all ports of a host.
    pub(crate) cookie: String,
    /// The trusted proxies; none if clients connect directly.
    pub(crate) proxies: Option<TrustedProxies>,
    pub(crate) rates: RateLimiter,
}

/// The parts of a request that identify its caller.
pub(crate) struct ClientRequest<'a> {
    pub(crate) method: &'a Method,
    pub(crate) headers: &'a HeaderMap,
    /// The address of the client.
    pub(crate) from: IpAddr,
}

impl RequestGuard {
    /// Checks that a request names this server and does not come from a page of another site.
    pub(crate) fn check_origin(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<(), ApiError> {
        let host = single_header(headers, header::HOST.as_str());
        if !host.is_some_and(|host| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)))
        {
            let message = match host {
                Some(host) => format!("unknown host name `{host}`"),
                None => "the request needs exactly one `Host` header".to_owned(),
            };
            let names = self.hosts.join(", ");
            return Err(ApiError::new(ApiErrorCode::WrongHost, message)
                .hint(format!("known names are {names}; add one with `agentry serve --host`")));
        }
        let foreign =
            || ApiError::new(ApiErrorCode::Csrf, "the request comes from a page of another site");
        if headers.contains_key(header::ORIGIN) {
            let scheme = if self.is_encrypted { "https" } else { "http" };
            let own = host.map(|host| format!("{scheme}://{host}"));
            if single_header(headers, header::ORIGIN.as_str()).map(str::to_owned) != own {
                return Err(foreign());
            }
        }
        let site = single_header(headers, "sec-fetch-site");
        let is_page =
            method == Method::GET && single_header(headers, "sec-fetch-mode") == Some("navigate");
        match site {
            Some("cross-site" | "same-site") if !is_page => Err(foreign()),
            _ => Ok(()),
        }
    }

    /// Returns the client's address; behind trusted proxies, the one from `X-Forwarded-For`.
    pub(crate) fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        self.proxies.as_ref().map_or(peer, |proxies| proxies.client(peer, headers))
    }

    /// Returns the caller, and checks that the key satisfies the route. Only wrong keys count as
    /// such; a request without a key does not.
    pub(crate) fn caller(
        &self,
        keys: &Authenticator,
        request: &ClientRequest<'_>,
        need: RouteAccess,
    ) -> Result<Caller, ApiError> {
        let ClientRequest { method, headers, .. } = *request;
        if need == RouteAccess::Unauthenticated {
            self.must_be_ours(method, headers)?;
            return Ok(Caller::anonymous());
        }
        if need == RouteAccess::Signed && !self.has_key(headers) {
            return Ok(Caller::anonymous());
        }
        let caller = self.identified(keys, request)?;
        self.rates.count_request(&caller.rate_limit_key())?;
        match need {
            RouteAccess::AnyKey | RouteAccess::Signed | RouteAccess::Unauthenticated => Ok(caller),
            RouteAccess::Owner(scope) if !caller.is_owner() => Err(forbidden(scope.as_str())
                .hint("only the owner can do this; policies let others talk to agents")),
            RouteAccess::Owner(scope) | RouteAccess::AnyCaller(scope)
                if !caller.has_scope(scope) =>
            {
                let hint = format!("create a key with `agentry token create --scope {scope}`");
                Err(forbidden(scope.as_str()).hint(hint))
            }
            RouteAccess::Owner(_) | RouteAccess::AnyCaller(_) => Ok(caller),
        }
    }

    /// Returns true if the request has a key, or needs none.
    fn has_key(&self, headers: &HeaderMap) -> bool {
        self.is_insecure || headers.contains_key(header::AUTHORIZATION)
    }

    fn identified(
        &self,
        keys: &Authenticator,
        request: &ClientRequest<'_>,
    ) -> Result<Caller, ApiError> {
        let ClientRequest { method, headers, from } = *request;
        let (found, text) = if let Some(text) = bearer(headers)? {
            (keys.caller(text, TokenKind::Bearer), text)
        } else if let Some(text) = self.cookie_of(headers) {
            self.must_be_ours(method, headers)?;
            (keys.caller(text, TokenKind::Cookie), text)
        } else if self.is_insecure {
            self.must_be_ours_if_a_browser(method, headers)?;
            return Ok(Caller::without_key());
        } else {
            return Err(ApiError::new(ApiErrorCode::Unauthenticated, "the request has no key")
                .hint("send `Authorization: Bearer KEY`; `agentry token create` creates a key"));
        };
        if found.as_ref().is_err_and(|refusal| refusal.code == ApiErrorCode::Unauthenticated) {
            self.rates.count_wrong_key(from, auth::claimed_id(text).as_deref())?;
        }
        found
    }

    /// Refuses a change with only what browsers send by themselves: a cookie proves no intent.
    fn must_be_ours(&self, method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
        if method == Method::GET {
            return Ok(());
        }
        if headers.contains_key(OURS) && headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        Err(ApiError::new(ApiErrorCode::Csrf, "the request may come from a page of another site")
            .hint("send the headers `X-Agentry: 1` and `Origin`, as the console does"))
    }

    fn must_be_ours_if_a_browser(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<(), ApiError> {
        let is_browser =
            headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site");
        if is_browser { self.must_be_ours(method, headers) } else { Ok(()) }
    }

    fn cookie_of<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let all = headers.get_all(header::COOKIE).into_iter();
        let pairs = all.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(';'));
        let named = pairs.filter_map(|pair| pair.trim().split_once('='));
        let mut found = named.filter(|(name, _)| *name == self.cookie).map(|(_, value)| value);
        // Two cookies of this name: one is planted, and we cannot tell which.
        let first = found.next();
        first.filter(|_| found.next().is_none())
    }

    /// Returns the `Set-Cookie` header for a cookie with this value and lifetime.
    pub(crate) fn set_cookie(&self, value: &str, seconds: u64) -> String {
        let secure = if self.is_encrypted { "; Secure" } else { "" };
        let name = &self.cookie;
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
    }
}

fn forbidden(scope: &str) -> ApiError {
    ApiError::new(ApiErrorCode::Forbidden, format!("the key lacks the scope `{scope}`"))
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    if !headers.contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    let text = single_header(headers, header::AUTHORIZATION.as_str());
    let key = text.and_then(|text| text.split_once(' '));
    let key =
        key.filter(|(word, _)| word.eq_ignore_ascii_case("bearer")).map(|(_, key)| key.trim());
    key.map(Some).ok_or_else(|| {
        ApiError::new(ApiErrorCode::Unauthenticated, "the header `Authorization` contains no key")
            .hint("send `Authorization: Bearer agt_…`")
    })
}
