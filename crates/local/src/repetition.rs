//! Detects a model that repeats itself.
//!
//! Must never: look at anything but the tokens that the model wrote.

use crate::limits::{REPEAT_PERIOD_TOKENS_MAX, REPEAT_TIMES_MAX, REPEAT_TOKENS_MAX};

/// Returns true if the tokens end with many copies of one piece.
pub(crate) fn repeats<T: PartialEq>(tokens: &[T]) -> bool {
    (1..=REPEAT_PERIOD_TOKENS_MAX).any(|period| {
        let window = REPEAT_TOKENS_MAX.max(REPEAT_TIMES_MAX * period) + period;
        tokens.len() >= window && {
            let end = &tokens[tokens.len() - window..];
            end[period..].iter().zip(end).all(|(later, earlier)| later == earlier)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(period: u32, count: usize) -> Vec<u32> {
        (0..period).cycle().take(count).collect()
    }

    #[test]
    fn one_token_or_a_phrase_repeats_itself() {
        for period in [1, 2, 7, 16, 48] {
            assert!(repeats(&cycle(period, 400)), "{period}");
        }
    }

    #[test]
    fn a_short_run_a_long_phrase_and_progress_are_fine() {
        assert!(!repeats(&cycle(1, REPEAT_TOKENS_MAX)));
        assert!(!repeats(&cycle(40, 4 * 40)));
        assert!(!repeats(&cycle(60, 600)));
        assert!(!repeats(&(0..1000).collect::<Vec<u32>>()));
        let mut broken = cycle(3, 200);
        broken[190] = 99;
        assert!(!repeats(&broken));
    }
}
