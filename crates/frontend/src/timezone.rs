//! The owner's time zone, which times in policies refer to, and parsing of times.
//!
//! Must never: use another zone than the configured one, or fall back to UTC without a warning.

use agentry_agentfile::access::{LocalTime, Weekday};
use agentry_agentfile::config::Settings;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::diagnostics::visible_line;
use crate::fault::{Blame, Fault};
use crate::output::warn;

/// The milliseconds of a minute.
const MINUTE_MS: u64 = 60_000;

/// The owner's time zone.
#[derive(Clone, Debug)]
pub struct OwnerTimeZone {
    zone: TimeZone,
}

/// Returns the time zone from the operator's settings, else that of the machine, else UTC.
pub fn of(settings: &Settings) -> Result<OwnerTimeZone, Fault> {
    if let Some(name) = &settings.config.timezone {
        let zone = TimeZone::get(name).map_err(|_| {
            let at = settings.origin("/timezone");
            Fault::new(Blame::Caller, format!("{at}: this machine has no time zone `{name}`"))
                .hint("write a name such as Europe/Berlin; the system's zones must be installed")
        })?;
        return Ok(OwnerTimeZone { zone });
    }
    let zone = TimeZone::try_system().unwrap_or_else(|error| {
        let why = visible_line(&error.to_string());
        warn(&format!(
            "this machine's time zone is unknown, so times in policies are in UTC: {why}\n \
             help: set `timezone` in your settings"
        ));
        TimeZone::UTC
    });
    Ok(OwnerTimeZone { zone })
}

impl OwnerTimeZone {
    /// Returns the IANA name of the zone, or a description if it has none.
    pub fn name(&self) -> &str {
        self.zone.iana_name().unwrap_or("this machine's zone")
    }

    /// Converts milliseconds since 1970 to the owner's local time.
    pub fn local(&self, milliseconds: u64) -> LocalTime {
        let at = self.zoned(milliseconds);
        local_of(at.datetime())
    }

    /// Formats milliseconds since 1970 as local date and time.
    pub fn shown(&self, milliseconds: u64) -> String {
        let at = self.zoned(milliseconds).datetime();
        let (date, time) = (at.date(), at.time());
        format!("{date} {:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())
    }

    fn zoned(&self, milliseconds: u64) -> Zoned {
        let milliseconds = i64::try_from(milliseconds).unwrap_or(i64::MAX);
        let at = Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::MAX);
        at.to_zoned(self.zone.clone())
    }

    /// Parses a past time: `7d`, `12h`, `30m`, a date, or a date and a time. Returns milliseconds.
    pub fn past(&self, text: &str, now: u64) -> Result<u64, Fault> {
        if let Some(back) = span(text) {
            return Ok(now.saturating_sub(back));
        }
        self.moment(text).ok_or_else(|| {
            Fault::new(Blame::Caller, format!("`{text}` is not a valid time"))
                .hint("write 7d, 12h, 30m, 2026-11-01, 2026-11-01T23:30 or 2026-11-01T23:30:00Z")
        })
    }

    /// Parses the time of a test: `23:30`, `sat 23:30`, or a date and a time. Returns the local
    /// time and milliseconds since 1970; the latter is `now` if the text has no date.
    pub fn trial(&self, text: &str, now: u64) -> Result<(LocalTime, u64), Fault> {
        let today = self.local(now).weekday;
        if let Some(said) = LocalTime::parse(text) {
            let weekday = if text.contains(' ') { said.weekday } else { today };
            return Ok((LocalTime { weekday, ..said }, now));
        }
        let at = self.moment(text).ok_or_else(|| {
            Fault::new(Blame::Caller, format!("--at: `{text}` is not a valid time"))
                .hint("write 23:30, sat 23:30, 2026-11-16T23:30 or 2026-11-16T23:30:00Z")
        })?;
        Ok((self.local(at), at))
    }

    /// Parses a date, a local date and time, or a time with its zone into milliseconds.
    fn moment(&self, text: &str) -> Option<u64> {
        if let Ok(at) = text.parse::<Timestamp>() {
            return u64::try_from(at.as_millisecond()).ok();
        }
        // A date alone means midnight; a text of any other length is a date with a time.
        let local = match text.len() {
            10 => text.parse::<Date>().ok()?.to_datetime(Time::midnight()),
            _ => text.parse::<DateTime>().ok()?,
        };
        let at = self.zone.to_zoned(local).ok()?;
        u64::try_from(at.timestamp().as_millisecond()).ok()
    }
}

fn span(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        'm' => MINUTE_MS,
        'h' => 60 * MINUTE_MS,
        'd' => 24 * 60 * MINUTE_MS,
        'w' => 7 * 24 * 60 * MINUTE_MS,
        _ => return None,
    };
    let digits = &text[..text.len() - 1];
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse::<u64>().ok()?.checked_mul(unit)).flatten()
}

fn local_of(at: DateTime) -> LocalTime {
    use jiff::civil::Weekday as Day;
    let weekday = match at.weekday() {
        Day::Monday => Weekday::Monday,
        Day::Tuesday => Weekday::Tuesday,
        Day::Wednesday => Weekday::Wednesday,
        Day::Thursday => Weekday::Thursday,
        Day::Friday => Weekday::Friday,
        Day::Saturday => Weekday::Saturday,
        Day::Sunday => Weekday::Sunday,
    };
    let minute = u16::from(at.hour().unsigned_abs()) * 60 + u16::from(at.minute().unsigned_abs());
    LocalTime { weekday, minute }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A Monday, 23:30 in Berlin.
    const NOW: u64 = 1_794_868_200_000;

    fn berlin() -> OwnerTimeZone {
        OwnerTimeZone {
            zone: TimeZone::get("Europe/Berlin").expect("the test machine knows zones"),
        }
    }

    #[test]
    fn a_moment_is_seen_by_the_owners_clock() {
        assert_eq!(berlin().local(NOW).to_string(), "mon 23:30");
        assert_eq!(OwnerTimeZone { zone: TimeZone::UTC }.local(NOW).to_string(), "mon 22:30");
        // Winter becomes summer: the hour after two does not exist.
        let before = berlin().moment("2026-03-29T01:59").unwrap();
        assert_eq!(berlin().local(before + 60_000).to_string(), "sun 03:00");
    }

    #[test]
    fn a_time_in_the_past_is_a_span_a_date_or_a_moment() {
        let zone = berlin();
        let cases = [
            ("7d", NOW - 7 * 24 * 3_600_000),
            ("12h", NOW - 12 * 3_600_000),
            ("30m", NOW - 1_800_000),
            ("1w", NOW - 7 * 24 * 3_600_000),
            ("2026-11-16T23:30", NOW),
            ("2026-11-16T22:30:00Z", NOW),
            ("2026-11-16T23:30:00+01:00", NOW),
            ("2026-11-16", NOW - 23 * 3_600_000 - 1_800_000),
        ];
        for (text, expected) in cases {
            assert_eq!(zone.past(text, NOW).unwrap(), expected, "{text}");
        }
        for text in
            ["", "d", "7", "7y", "-1d", "+1d", "yesterday", "2026-13-01", "2026-11-1", "7 d", "ü"]
        {
            assert!(zone.past(text, NOW).is_err(), "{text}");
        }
        assert_eq!(zone.past("99999999999999999999d", NOW).ok(), None);
        assert_eq!(zone.past("9999999d", NOW).unwrap(), 0);
    }

    #[test]
    fn a_trial_is_today_unless_a_day_is_said() {
        let zone = berlin();
        let local = |text: &str| zone.trial(text, NOW).unwrap().0.to_string();
        assert_eq!(local("07:15"), "mon 07:15");
        assert_eq!(local("sat 07:15"), "sat 07:15");
        assert_eq!(local("2026-11-15T07:15"), "sun 07:15");
        assert_eq!(local("2026-11-15T07:15:00Z"), "sun 08:15");
        for text in ["25:00", "7:15", "noon", ""] {
            assert!(zone.trial(text, NOW).is_err(), "{text}");
        }
    }
}
