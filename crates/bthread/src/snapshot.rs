//! The stored form of a program: threads, queues and the halt. Bids and index are recomputed.
//!
//! Must never: store what can be computed from the threads.

use std::collections::VecDeque;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{halt::Halt, program::Program, thread::Thread};

#[derive(Serialize, Deserialize)]
struct ProgramSnapshot<T, E> {
    threads: Vec<T>,
    urgent: VecDeque<E>,
    normal: VecDeque<E>,
    unheard: Vec<E>,
    halted: Option<Halt>,
}

impl<T: Thread + Serialize> Serialize for Program<T>
where
    T::Event: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let saved = ProgramSnapshot {
            threads: self.threads().collect(),
            urgent: self.urgent.iter().collect(),
            normal: self.normal.iter().collect(),
            unheard: self.unheard.iter().collect(),
            halted: self.halted.clone(),
        };
        saved.serialize(serializer)
    }
}

impl<'de, T: Thread + Deserialize<'de>> Deserialize<'de> for Program<T>
where
    T::Event: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = ProgramSnapshot::<T, T::Event>::deserialize(deserializer)?;
        let mut program = Program::new(saved.threads);
        program.urgent = saved.urgent;
        program.normal = saved.normal;
        program.unheard = saved.unheard;
        // A thread whose `bid` panics keeps the program halted, regardless of the stored halt.
        program.halted = saved.halted.or(program.halted);
        Ok(program)
    }
}
