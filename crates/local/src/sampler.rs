//! Samples a token by its score: the best one, or by chance with a seed.
//!
//! Must never: choose a token that the grammar forbids, or differently with the same seed.

/// Number of best tokens that may be chosen by chance.
const CHOICES: usize = 40;
/// Share of the probability that the candidates hold together.
const SHARE: f32 = 0.95;

/// A sampler of tokens.
pub(crate) struct TokenSampler {
    temperature: f32,
    state: u64,
}

impl TokenSampler {
    /// Creates a sampler. Without a temperature it always chooses the best token.
    pub(crate) fn new(temperature: Option<f64>, seed: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a temperature is a small number")]
        let temperature = temperature.unwrap_or(0.0).clamp(0.0, 5.0) as f32;
        Self { temperature, state: seed }
    }

    /// Chooses one of the allowed tokens and returns its number.
    pub(crate) fn choose(
        &mut self,
        scores: &[f32],
        allowed: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        if self.temperature < 0.01 {
            return best(scores, allowed);
        }
        let mut ranked: Vec<(usize, f32)> = Vec::with_capacity(CHOICES + 1);
        for (token, score) in scores.iter().enumerate() {
            let full = ranked.len() == CHOICES;
            if full && ranked.last().is_some_and(|last| *score <= last.1) || !allowed(token) {
                continue;
            }
            let at = ranked.partition_point(|other| other.1 >= *score);
            ranked.insert(at, (token, *score));
            ranked.truncate(CHOICES);
        }
        let top = ranked.first()?.1;
        let weights: Vec<f32> =
            ranked.iter().map(|(_, score)| ((score - top) / self.temperature).exp()).collect();
        let total: f32 = weights.iter().sum();
        let mut kept = 0;
        let mut share = 0.0;
        while kept < weights.len() && share < SHARE * total {
            share += weights[kept];
            kept += 1;
        }
        let mut left = self.next() * share;
        for (index, weight) in weights[..kept].iter().enumerate() {
            left -= weight;
            if left <= 0.0 {
                return Some(ranked[index].0);
            }
        }
        Some(ranked[kept - 1].0)
    }

    /// Returns the next random number from 0 to 1.
    fn next(&mut self) -> f32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        #[expect(clippy::cast_precision_loss, reason = "24 bits fit into the number")]
        let part = (mixed >> 40) as f32;
        part / 16_777_216.0
    }
}

/// Returns the allowed token with the highest score.
pub(crate) fn best(scores: &[f32], allowed: impl Fn(usize) -> bool) -> Option<usize> {
    let mut best: Option<(usize, f32)> = None;
    for (token, score) in scores.iter().enumerate() {
        if best.is_none_or(|best| *score > best.1) && allowed(token) {
            best = Some((token, *score));
        }
    }
    best.map(|best| best.0)
}

/// Returns the probability of a token.
pub(crate) fn probability(scores: &[f32], token: usize) -> f32 {
    let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f32 = scores.iter().map(|score| (score - top).exp()).sum();
    scores.get(token).map_or(0.0, |score| (score - top).exp() / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_temperature_the_best_allowed_one_is_chosen() {
        let scores = [1.0, 5.0, 3.0];
        let mut dice = TokenSampler::new(None, 7);
        assert_eq!(dice.choose(&scores, |_| true), Some(1));
        assert_eq!(dice.choose(&scores, |token| token != 1), Some(2));
        assert_eq!(dice.choose(&scores, |_| false), None);
    }

    #[test]
    fn the_same_seed_makes_the_same_choices_and_another_one_others() {
        let scores: Vec<f32> = (0..100_u8).map(|token| f32::from(token % 10)).collect();
        let run = |seed| {
            let mut dice = TokenSampler::new(Some(1.0), seed);
            (0..50).map(|_| dice.choose(&scores, |_| true)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn chance_never_takes_what_is_forbidden() {
        let scores = [9.0, 1.0, 1.0];
        let mut dice = TokenSampler::new(Some(2.0), 3);
        for _ in 0..200 {
            let chosen = dice.choose(&scores, |token| token != 0).expect("two are allowed");
            assert_ne!(chosen, 0);
        }
        assert_eq!(dice.choose(&scores, |_| false), None);
    }

    #[test]
    fn probabilities_sum_to_one() {
        let scores = [0.0, 1.0, 2.0];
        let sum: f32 = (0..3).map(|token| probability(&scores, token)).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
        assert!(probability(&scores, 2) > 0.6);
    }
}
