//! Time windows of policies (a part of the day, the weekend, the working days), and a time on the
//! owner's clock.
//!
//! Must never: read a clock or know a time zone. The caller passes times.

use std::fmt;

/// The number of minutes of a day.
pub const MINUTES_PER_DAY: u16 = 24 * 60;

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weekday {
    /// The first day, from which the others are counted.
    Monday,
    /// The second day.
    Tuesday,
    /// The third day.
    Wednesday,
    /// The fourth day.
    Thursday,
    /// The fifth day.
    Friday,
    /// The sixth day; part of the weekend.
    Saturday,
    /// The seventh day; part of the weekend.
    Sunday,
}

impl Weekday {
    /// All days, in order.
    pub const ALL: [Self; 7] = [
        Self::Monday,
        Self::Tuesday,
        Self::Wednesday,
        Self::Thursday,
        Self::Friday,
        Self::Saturday,
        Self::Sunday,
    ];

    /// True for Saturday and Sunday.
    pub fn is_weekend(self) -> bool {
        match self {
            Self::Saturday | Self::Sunday => true,
            Self::Monday | Self::Tuesday | Self::Wednesday | Self::Thursday | Self::Friday => false,
        }
    }

    /// Returns the day in three letters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Monday => "mon",
            Self::Tuesday => "tue",
            Self::Wednesday => "wed",
            Self::Thursday => "thu",
            Self::Friday => "fri",
            Self::Saturday => "sat",
            Self::Sunday => "sun",
        }
    }
}

/// A time on the owner's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalTime {
    /// The day of the week.
    pub weekday: Weekday,
    /// Minutes since midnight.
    pub minute: u16,
}

impl LocalTime {
    /// Parses `HH:MM`, or with a day as in `sat 23:30`; without a day it is a Monday.
    pub fn parse(text: &str) -> Option<Self> {
        let (day, clock) = text.split_once(' ').unwrap_or(("mon", text));
        let weekday = Weekday::ALL.into_iter().find(|one| one.as_str() == day)?;
        let minute = minutes(clock).filter(|minute| *minute < MINUTES_PER_DAY)?;
        Some(Self { weekday, minute })
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:02}:{:02}", self.weekday.as_str(), self.minute / 60, self.minute % 60)
    }
}

/// The time window of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeWindow {
    /// From one minute of the day to before another; over midnight if it begins later than it ends.
    Daily {
        /// The first minute.
        start: u16,
        /// The minute after the last.
        end: u16,
    },
    /// Saturday and Sunday.
    Weekends,
    /// Monday to Friday.
    Weekdays,
}

impl TimeWindow {
    /// Parses `HH:MM-HH:MM`, `weekends` or `weekdays`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "weekends" => Some(Self::Weekends),
            "weekdays" => Some(Self::Weekdays),
            range => {
                let (start, end) = range.split_once('-')?;
                let start = minutes(start).filter(|start| *start < MINUTES_PER_DAY)?;
                Some(Self::Daily { start, end: minutes(end)? })
            }
        }
    }

    /// True if a time lies in the window.
    pub fn contains(self, at: LocalTime) -> bool {
        match self {
            Self::Daily { start, end } if start <= end => (start..end).contains(&at.minute),
            Self::Daily { start, end } => at.minute >= start || at.minute < end,
            Self::Weekends => at.weekday.is_weekend(),
            Self::Weekdays => !at.weekday.is_weekend(),
        }
    }
}

impl fmt::Display for TimeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Daily { start, end } => {
                write!(f, "{:02}:{:02}-{:02}:{:02}", start / 60, start % 60, end / 60, end % 60)
            }
            Self::Weekends => f.write_str("weekends"),
            Self::Weekdays => f.write_str("weekdays"),
        }
    }
}

/// Parses `HH:MM` as minutes; `24:00` is the end of the day.
fn minutes(clock: &str) -> Option<u16> {
    let (hours, minutes) = clock.split_once(':')?;
    let two = |text: &str| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u16>().ok()).flatten()
    };
    let (hours, minutes) = (two(hours)?, two(minutes)?);
    let total = hours * 60 + minutes;
    (minutes < 60 && total <= MINUTES_PER_DAY).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> LocalTime {
        LocalTime::parse(text).unwrap()
    }

    #[test]
    fn a_window_over_midnight_begins_with_its_first_minute_and_ends_before_its_last() {
        let quiet = TimeWindow::parse("23:00-08:00").unwrap();
        for inside in ["23:00", "23:59", "00:00", "sun 07:59"] {
            assert!(quiet.contains(at(inside)), "{inside}");
        }
        for outside in ["22:59", "08:00", "12:00"] {
            assert!(!quiet.contains(at(outside)), "{outside}");
        }
        let day = TimeWindow::parse("08:00-23:00").unwrap();
        assert!(day.contains(at("08:00")) && !day.contains(at("23:00")));
        assert!(TimeWindow::parse("00:00-24:00").unwrap().contains(at("23:59")));
    }

    #[test]
    fn weekends_and_weekdays_share_the_week() {
        for weekday in Weekday::ALL {
            let at = LocalTime { weekday, minute: 0 };
            assert_ne!(TimeWindow::Weekends.contains(at), TimeWindow::Weekdays.contains(at));
        }
        assert!(TimeWindow::Weekends.contains(at("sat 10:00")));
    }

    #[test]
    fn what_is_no_window_is_refused() {
        for text in [
            "",
            "8:00-9:00",
            "08:00",
            "08:00-25:00",
            "08:60-09:00",
            "24:00-08:00",
            "weekend",
            "08:00–09:00",
            "-",
            "+8:00-09:00",
        ] {
            assert_eq!(TimeWindow::parse(text), None, "{text}");
        }
        for text in ["24:00", "xyz 10:00", "sat", "10:00 sat"] {
            assert_eq!(LocalTime::parse(text), None, "{text}");
        }
    }
}
