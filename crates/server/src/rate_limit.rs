//! Rate limits: requests per caller, and wrong keys per address and per claimed key.
//!
//! The counters of wrong keys only change the answer to a wrong key: a right key, signature or code
//! is never refused because others sent wrong ones. The number of counters is bounded.
//!
//! Must never: refuse a valid request because of another caller's requests, or grow without bound.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use agentry_frontend::output::log_line;
use agentry_protocol::ContentHash;

use super::api_error::{ApiError, ApiErrorCode};
use crate::limits::{
    COUNTED_CALLERS_MAX, REQUESTS_BURST, REQUESTS_PER_SECOND, WRONG_KEYS_PER_MINUTE,
    WRONG_KEYS_TOLD_TIME_MIN,
};

/// The counters of requests and of wrong keys.
#[derive(Default)]
pub(crate) struct RateLimiter {
    callers: TokenBuckets<String>,
    wrong_addresses: TokenBuckets<IpAddr>,
    /// By the hash of the key id that the request claims.
    wrong_ids: TokenBuckets<ContentHash>,
    /// The number of wrong keys since the start of the server.
    wrong_count: AtomicU64,
    /// The time of the last log line about repeated wrong keys.
    told: Mutex<Option<Instant>>,
}

impl RateLimiter {
    /// Counts a request of a known caller; fails if the caller exceeds its rate.
    pub(crate) fn count_request(&self, name: &str) -> Result<(), ApiError> {
        let limit = RateLimit { burst: REQUESTS_BURST, per_second: f64::from(REQUESTS_PER_SECOND) };
        self.callers.take(name.to_owned(), limit, Instant::now())
    }

    /// Counts a wrong key, code or signature; fails if there were too many.
    pub(crate) fn count_wrong_key(&self, from: IpAddr, id: Option<&str>) -> Result<(), ApiError> {
        self.wrong_count.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        let by_address = self.wrong_addresses.take(counted(from), wrong_key_limit(), now);
        let by_id = id.map_or(Ok(()), |id| {
            self.wrong_ids.take(ContentHash::of(id.as_bytes()), wrong_key_limit(), now)
        });
        by_address.and(by_id).inspect_err(|_| self.tell(from))
    }

    /// Returns the number of wrong keys since the start of the server.
    pub(crate) fn wrong_keys(&self) -> u64 {
        self.wrong_count.load(Ordering::Relaxed)
    }

    fn tell(&self, from: IpAddr) {
        let now = Instant::now();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|at| now.duration_since(at) >= WRONG_KEYS_TOLD_TIME_MIN) {
            *told = Some(now);
            let count = self.wrong_keys();
            log_line(&format!(
                "wrong keys limited: repeated failures from {from} ({count} in total since the start)"
            ));
        }
    }
}

/// Returns the address to count: of IPv6 the /64 network, since one client has all its addresses.
fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

/// The requests that are allowed at once, and the rate at which more are allowed.
#[derive(Clone, Copy)]
struct RateLimit {
    burst: u32,
    per_second: f64,
}

/// A token bucket per counted name.
struct TokenBuckets<K> {
    buckets: Mutex<HashMap<K, TokenBucket>>,
}

impl<K> Default for TokenBuckets<K> {
    fn default() -> Self {
        Self { buckets: Mutex::default() }
    }
}

impl<K: Eq + Hash + Clone> TokenBuckets<K> {
    fn take(&self, name: K, limit: RateLimit, now: Instant) -> Result<(), ApiError> {
        let mut all = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= COUNTED_CALLERS_MAX && !all.contains_key(&name) {
            make_room(&mut all, limit, now);
        }
        let bucket = all.entry(name).or_insert_with(|| TokenBucket::full(limit.burst, now));
        bucket.take(limit, now).map_err(limited)
    }
}

/// Removes buckets that are full again; if that is not enough, the half that is unused for longest.
fn make_room<K: Eq + Hash + Clone>(
    all: &mut HashMap<K, TokenBucket>,
    limit: RateLimit,
    now: Instant,
) {
    let is_full =
        |bucket: &TokenBucket| bucket.refilled(limit, now).level >= f64::from(limit.burst);
    all.retain(|_, bucket| !is_full(bucket));
    if all.len() < COUNTED_CALLERS_MAX {
        return;
    }
    let mut by_time: Vec<(Instant, K)> =
        all.iter().map(|(name, bucket)| (bucket.at, name.clone())).collect();
    by_time.sort_by_key(|(at, _)| *at);
    for (_, name) in by_time.into_iter().take(COUNTED_CALLERS_MAX / 2) {
        all.remove(&name);
    }
}

/// A token bucket: time refills it, requests empty it.
#[derive(Clone, Copy)]
struct TokenBucket {
    level: f64,
    at: Instant,
}

impl TokenBucket {
    fn full(burst: u32, now: Instant) -> Self {
        Self { level: f64::from(burst), at: now }
    }

    fn refilled(self, limit: RateLimit, now: Instant) -> Self {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        let level = (self.level + since * limit.per_second).min(f64::from(limit.burst));
        Self { level, at: now }
    }

    /// Takes a token, or returns the seconds until there is one.
    fn take(&mut self, limit: RateLimit, now: Instant) -> Result<(), u64> {
        *self = self.refilled(limit, now);
        if self.level >= 1.0 {
            self.level -= 1.0;
            return Ok(());
        }
        Err(((1.0 - self.level) / limit.per_second).ceil().clamp(1.0, 3_600.0) as u64)
    }
}

fn wrong_key_limit() -> RateLimit {
    let per_second = f64::from(WRONG_KEYS_PER_MINUTE) / 60.0;
    RateLimit { burst: WRONG_KEYS_PER_MINUTE, per_second }
}

fn limited(seconds: u64) -> ApiError {
    ApiError {
        retry_after: Some(seconds),
        ..ApiError::new(ApiErrorCode::RateLimited, "too many requests")
            .hint(format!("try again in {seconds} s"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_is_emptied_by_requests_and_filled_by_time() {
        let (limit, begin) = (RateLimit { burst: 2, per_second: 1.0 }, Instant::now());
        let mut bucket = TokenBucket::full(2, begin);
        assert_eq!([0; 3].map(|_| bucket.take(limit, begin)), [Ok(()), Ok(()), Err(1)]);
        assert_eq!(bucket.take(limit, begin + Duration::from_secs(1)), Ok(()));
        assert_eq!(bucket.take(limit, begin + Duration::from_secs(1)), Err(1));
    }

    #[test]
    fn the_counters_stay_few_however_many_come() {
        let (counters, now) = (TokenBuckets::<usize>::default(), Instant::now());
        let limit = RateLimit { burst: 2, per_second: 0.001 };
        for name in 0..3 * COUNTED_CALLERS_MAX {
            counters.take(name, limit, now + Duration::from_nanos(name as u64)).unwrap();
            let len = counters.buckets.lock().unwrap().len();
            assert!(len <= COUNTED_CALLERS_MAX, "{len}");
        }
        let last = 3 * COUNTED_CALLERS_MAX - 1;
        assert!(counters.buckets.lock().unwrap().contains_key(&last), "the newest are kept");
    }

    #[test]
    fn wrong_keys_are_counted_by_address_and_by_the_key_they_claim_to_be() {
        let rates = RateLimiter::default();
        let from = |last: u32| IpAddr::V4(std::net::Ipv4Addr::from(0x0a00_0000 + last));
        let wrongs = |from: IpAddr, id: Option<&str>| {
            (0..WRONG_KEYS_PER_MINUTE).filter(|_| rates.count_wrong_key(from, id).is_ok()).count()
        };
        let all = WRONG_KEYS_PER_MINUTE as usize;
        assert_eq!(wrongs(from(1), None), all);
        assert!(rates.count_wrong_key(from(1), None).is_err());
        assert!(rates.count_wrong_key(from(2), None).is_ok(), "other addresses are not affected");
        // From many addresses, about one key.
        let about_one =
            (0..all as u32).filter(|one| rates.count_wrong_key(from(100 + one), Some("a")).is_ok());
        assert_eq!(about_one.count(), all);
        assert!(rates.count_wrong_key(from(999), Some("a")).is_err());
        assert!(rates.count_wrong_key(from(999), Some("b")).is_ok());
    }

    #[test]
    fn a_network_of_ipv6_is_counted_as_one() {
        let one = |text: &str| counted(text.parse().unwrap());
        assert_eq!(one("2001:db8::1"), one("2001:db8::ffff:2"));
        assert_ne!(one("2001:db8::1"), one("2001:db8:0:1::1"));
        assert_eq!(one("::ffff:10.0.0.1"), one("10.0.0.1"));
    }
}
