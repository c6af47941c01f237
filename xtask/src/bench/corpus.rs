//! Agents and skills for the benchmark: generated, but of the size and shape that people write.
//!
//! The same number gives the same bytes on every machine, so that two runs can be compared.
//!
//! Must never: contain a mistake, by our rules or by the Agent Skills specification.

mod prose;

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{bench::corpus::prose::SentenceGenerator, failure::CommandFailure};

const SKILLS_PER_GROUP: usize = 100;
const SKILLS_PER_AGENT: usize = 10;

/// Writes the skills, and a tenth as many agents, below `dir`.
pub(crate) fn write(dir: &Path, skills: usize) -> Result<(), CommandFailure> {
    for page in pages(skills) {
        let path = dir.join(&page.path);
        let folder = path.parent().unwrap_or(dir);
        fs::create_dir_all(folder)
            .map_err(|error| CommandFailure::file("create", folder, &error))?;
        fs::write(&path, page.text)
            .map_err(|error| CommandFailure::file("write", &path, &error))?;
    }
    Ok(())
}

pub(crate) fn agent_count(skills: usize) -> usize {
    skills / SKILLS_PER_AGENT
}

pub(crate) fn skills_dir(dir: &Path) -> PathBuf {
    dir.join(".agentry").join("skills")
}

struct GeneratedFile {
    path: String,
    text: String,
}

fn pages(skills: usize) -> impl Iterator<Item = GeneratedFile> {
    (0..skills).map(skill).chain((0..agent_count(skills)).map(agent))
}

fn skill(index: usize) -> GeneratedFile {
    let mut prose = SentenceGenerator::of(index);
    let name = skill_name(index);
    let mut front =
        format!("name: {name}\ndescription: {}\n", skill_description(index, &mut prose));
    if index.is_multiple_of(3) {
        front.push_str("license: Apache-2.0\n");
    }
    if index % 4 == 1 {
        front.push_str("compatibility: Needs git and a POSIX shell.\n");
    }
    if index % 5 == 2 {
        let version = index % 7;
        front.push_str(&format!(
            "metadata:\n  author: team-{version}\n  version: \"1.{version}\"\n"
        ));
    }
    if index % 7 == 3 {
        front.push_str("allowed-tools: Read Grep Bash\n");
    }
    GeneratedFile {
        path: format!(".agentry/skills/{}/SKILL.md", skill_id(index)),
        text: format!("---\n{front}---\n\n{}", prose.skill_body(&name)),
    }
}

fn skill_name(index: usize) -> String {
    let prose = SentenceGenerator::of(index);
    format!("{}-{}-{index:05}", prose.verb(), prose.noun())
}

/// Returns the path below the folder of skills: its group, then its name.
fn skill_id(index: usize) -> String {
    format!("group-{:03}/{}", index / SKILLS_PER_GROUP, skill_name(index))
}

/// Returns a plain, quoted or folded text: the three ways people write a sentence in YAML.
fn skill_description(index: usize, prose: &mut SentenceGenerator) -> String {
    let (what, when) = (prose.sentence(), prose.sentence());
    match index % 3 {
        0 => format!("{what} {when}"),
        1 => format!("\"{what} Use it when: {when}\""),
        _ => format!(">-\n  {what}\n  {when}"),
    }
}

fn agent(index: usize) -> GeneratedFile {
    let mut prose = SentenceGenerator::of(index);
    let name = format!("{}-{index:05}", prose.role());
    let tools =
        ["Read, Grep, Bash", "Read, Glob, Edit, Bash", "Read, Write, Edit, Grep, Bash"][index % 3];
    let model = ["claude-sonnet-4-20250514", "gpt-4.1", "claude-3-5-haiku-20241022"][index % 3];
    let first = index * SKILLS_PER_AGENT;
    let skills: String =
        [first, first + 4, first + 7].map(|skill| format!("  - {}\n", skill_id(skill))).concat();
    let description = prose.sentence();
    let text = format!(
        "---
name: {name}
description: {description}
model: {model}
tools: [{tools}]
tool_approvals:
  default: approve
  rules:
    - tool: Read
      allow: true
      when:
        path: {{ startsWith: docs/ }}
    - tool: Bash
      allow: true
      when:
        command: {{ matches: \"^(git|cargo) (status|log|test)( |$)\" }}
skills:
{skills}---

{}",
        prose.agent_body(&name)
    );
    GeneratedFile { path: format!(".agentry/agents/{name}/AGENT.md"), text }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SKILLS: usize = 250;

    #[test]
    fn there_are_as_many_as_asked_for_and_each_has_its_own_place() {
        let paths: BTreeSet<String> = pages(SKILLS).map(|page| page.path).collect();
        let skills = paths.iter().filter(|path| path.ends_with("/SKILL.md")).count();
        let agents = paths.iter().filter(|path| path.ends_with("/AGENT.md")).count();
        assert_eq!((skills, agents, paths.len()), (SKILLS, 25, 275));
        assert_eq!(pages(9).count(), 9, "too few skills for an agent");
    }

    #[test]
    fn names_are_valid_and_equal_to_their_folder() {
        for page in pages(SKILLS) {
            let folder = page.path.rsplit('/').nth(1).expect("a page lies in a folder");
            let name = page.text.lines().nth(1).and_then(|line| line.strip_prefix("name: "));
            assert_eq!(name, Some(folder));
            assert!(folder.len() <= 64, "{folder}");
            let parts_are_plain = folder.split('-').all(|part| {
                !part.is_empty()
                    && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            });
            assert!(parts_are_plain, "{folder}");
        }
    }

    #[test]
    fn bodies_have_the_size_people_write_and_descriptions_fit() {
        for page in pages(SKILLS) {
            let mut parts = page.text.splitn(3, "---\n").skip(1);
            let (front, body) = (parts.next().expect("front"), parts.next().expect("body"));
            assert!((1_000..=2_048).contains(&body.len()), "{}: {}", page.path, body.len());
            assert!(front.len() < 1_024, "{}: {}", page.path, front.len());
        }
    }

    #[test]
    fn agents_name_three_skills_that_exist() {
        let ids: BTreeSet<String> = (0..SKILLS).map(skill_id).collect();
        for page in pages(SKILLS).filter(|page| page.path.ends_with("/AGENT.md")) {
            let named: BTreeSet<&str> =
                page.text.lines().filter_map(|line| line.strip_prefix("  - group")).collect();
            assert_eq!(named.len(), 3, "{}", page.path);
            assert!(named.iter().all(|id| ids.contains(&format!("group{id}"))), "{named:?}");
        }
    }

    #[test]
    fn the_same_number_gives_the_same_bytes() {
        let again = pages(SKILLS).zip(pages(SKILLS));
        for (one, other) in again {
            assert_eq!((one.path, one.text), (other.path, other.text));
        }
        // A tree of another size begins with the same skills.
        let (small, large) = (pages(10).next(), pages(SKILLS).next());
        assert_eq!(small.map(|page| page.text), large.map(|page| page.text));
    }

    #[test]
    fn what_is_written_is_what_was_made() {
        let dir = tempfile::tempdir().expect("a temp directory");
        write(dir.path(), 20).unwrap_or_else(|failure| panic!("{failure}"));
        for page in pages(20) {
            let text = fs::read_to_string(dir.path().join(&page.path)).expect("it was written");
            assert_eq!(text, page.text);
        }
        assert!(skills_dir(dir.path()).join("group-000").is_dir());
    }
}
