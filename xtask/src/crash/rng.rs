//! Pseudo-random numbers, equal for equal seeds.
//!
//! Must never: ask the machine for anything.

/// The generator `splitmix64`: a mixed counter.
pub(crate) struct CrashRng {
    state: u64,
}

impl CrashRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns a number below `end`; zero if there is none.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).checked_rem(end).unwrap_or_default()
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_all_of_them_come() {
        let drawn = |seed| {
            let mut chance = CrashRng::new(seed);
            (0..200).map(|_| chance.below(6)).collect::<Vec<u64>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        assert!((0..6).all(|number| drawn(1).contains(&number)));
    }
}
