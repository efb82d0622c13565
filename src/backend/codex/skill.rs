//! `$name` in a prompt makes Codex inject the skill of that name. For a prompt that is text, the skills it happens to
//! name are switched off for the run: the words reach the model as they are.

use super::toml;
use std::collections::BTreeSet;

/// The most bytes of the list; a prompt of code can hold any number of `$variables`.
const LIST_LIMIT: usize = if cfg!(windows) { 8_000 } else { 100_000 };

/// The value of `skills.config` that switches off every skill which `prompt` names, if it names any.
pub fn switched_off(prompt: &str) -> Option<String> {
    let mut entries = String::new();
    for name in names(prompt) {
        let entry = format!("{{name={},enabled=false}},", toml::string(name));
        if entries.len() + entry.len() > LIST_LIMIT {
            break;
        }
        entries.push_str(&entry);
    }
    for path in paths(prompt) {
        let entry = format!("{{path={},enabled=false}},", toml::string(path));
        if entries.len() + entry.len() > LIST_LIMIT {
            break;
        }
        entries.push_str(&entry);
    }
    let entries = entries.strip_suffix(',')?;
    Some(format!("skills.config=[{entries}]"))
}

/// The words after a dollar sign. Shortest first, so that a cut list loses the least likely ones.
fn names(prompt: &str) -> Vec<&str> {
    let names: BTreeSet<&str> = prompt
        .split('$')
        .skip(1)
        .map(|rest| {
            let end = rest.find(|character: char| !is_name(character)).unwrap_or(rest.len());
            rest[..end].trim_end_matches(':')
        })
        .filter(|name| !name.is_empty() && name.len() <= 128)
        .collect();
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|name| name.len());
    names
}

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | ':')
}

/// The targets of `[$name](…/SKILL.md)`.
fn paths(prompt: &str) -> BTreeSet<&str> {
    prompt
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .map(|target| target.trim().trim_start_matches("skill://"))
        .filter(|target| target.ends_with("SKILL.md") && target.len() <= 4096)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_skill_is_switched_off() {
        assert_eq!(
            switched_off("use $deploy, then $deploy. It costs $5").as_deref(),
            Some(r#"skills.config=[{name="5",enabled=false},{name="deploy",enabled=false}]"#)
        );
    }

    #[test]
    fn a_skill_linked_by_its_path_is_switched_off() {
        assert_eq!(
            switched_off("[$x](/home/user/skills/y/SKILL.md)").as_deref(),
            Some(r#"skills.config=[{name="x",enabled=false},{path="/home/user/skills/y/SKILL.md",enabled=false}]"#)
        );
    }

    #[test]
    fn a_prompt_without_a_name_needs_nothing() {
        assert_eq!(switched_off("pay $ or €, [docs](https://example.com)"), None);
    }

    #[test]
    fn the_list_stays_within_an_argument() {
        let prompt: String = (0..50_000).map(|number| format!("$variable{number} ")).collect();
        assert!(switched_off(&prompt).unwrap().len() < 128 * 1024);
    }
}
