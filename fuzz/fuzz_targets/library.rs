//! Arbitrary small directories: which files there are, and what stands in them.
#![no_main]

use agentry_agentfile::file_tree::{FileTreeEntry, ReadRefusal};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 24] = [
    "agent.yml",
    "AGENT.md",
    "SOUL.md",
    "USER.md",
    "AGENTS.md",
    "agentry.toml",
    ".mcp.json",
    "prompts/system.md.liquid",
    "personas/p/SOUL.md",
    "personas/p/system.md.liquid",
    "tools/t.yml",
    "tools/t.sh*",
    "hooks/before_inference*",
    "skills/s.md",
    "skills/s/SKILL.md",
    "data/facts.yml",
    "memory/2026-01-01.md",
    "context/system_prompt.md",
    "context/tool-access.json",
    ".agentry/agents/a/AGENT.md",
    ".agentry/agents/a/b/AGENT.md",
    ".agentry/skills/s/SKILL.md",
    ".nanobot/tasks/t/TASK.md",
    ".nanobot/tasks/t/next.md",
];

// The bytes are pieces between NUL bytes; the first byte of a piece chooses its name.
fuzz_target!(|bytes: &[u8]| {
    let pieces: Vec<(&str, &[u8])> = bytes
        .split(|byte| *byte == 0)
        .filter_map(|piece| piece.split_first())
        .map(|(first, rest)| (NAMES[usize::from(*first) % NAMES.len()], rest))
        .collect();
    let mut tree = agentry_fuzz::tree(&pieces);
    if bytes.len() % 7 == 0 {
        tree.insert("SOUL.md", FileTreeEntry::Refused(ReadRefusal::LinkLeavesRoot));
    }
    agentry_fuzz::read(&tree);
});
