//! Commands as a person would type them.

use crate::backend::{Launch, Stdin};
use crate::mask::Mask;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// One argument, quoted for a POSIX shell.
pub fn quote(text: &OsStr) -> String {
    let text = text.to_string_lossy();
    match shlex::try_quote(&text) {
        Ok(quoted) => quoted.into_owned(),
        // A NUL cannot be typed at all.
        Err(_) => format!("{text:?}"),
    }
}

/// A launch as one line without its secrets: directory, changes to the environment, program, arguments, and what it
/// reads. `set` are the user's own variables.
pub fn command_line(launch: &Launch, set: &BTreeMap<String, String>, mask: &Mask) -> String {
    let masked = |text: &OsStr| quote(OsStr::new(&mask.apply(&text.to_string_lossy())));
    let mut words = vec!["cd".to_owned(), quote(launch.cwd.as_os_str()), "&&".to_owned()];
    words.extend(environment(launch, set, mask));
    words.push(quote(launch.program.as_os_str()));
    words.extend(launch.args.iter().map(|arg| masked(arg)));
    words.extend(input(&launch.stdin));
    words.join(" ")
}

/// The variables that a launch is started with besides what it inherits. What the plan says wins over the user's own.
pub fn variables(launch: &Launch, set: &BTreeMap<String, String>) -> Vec<(OsString, OsString)> {
    let planned = |name: &String| launch.env.iter().any(|(planned, _)| planned == name.as_str());
    let own = set.iter().filter(|(name, _)| !planned(name));
    let own = own.map(|(name, value)| (name.into(), value.into()));
    let plans = launch.env.iter();
    let plans = plans.filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
    own.chain(plans).collect()
}

/// `env` with what is removed before what is set: after an assignment it takes an option for the program.
fn environment(launch: &Launch, set: &BTreeMap<String, String>, mask: &Mask) -> Vec<String> {
    let removed = launch.env.iter().filter(|(_, value)| value.is_none());
    let mut words: Vec<String> = removed.flat_map(|(name, _)| ["-u".to_owned(), quote(name)]).collect();
    for (name, value) in variables(launch, set) {
        let value = mask.variable(&name, &value);
        words.push(format!("{}={}", quote(&name), quote(OsStr::new(&value))));
    }
    if !words.is_empty() {
        words.insert(0, "env".to_owned());
    }
    words
}

/// What is on standard input. The text itself is not shown: a comment says how much of it there is.
fn input(stdin: &Stdin) -> Option<String> {
    match stdin {
        Stdin::Closed => Some("< /dev/null".to_owned()),
        Stdin::Bytes(bytes) => Some(format!("# stdin: {} bytes", bytes.len())),
        Stdin::Held(bytes) => Some(format!("# stdin: {} bytes, and it stays open", bytes.len())),
        Stdin::Inherited => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Site;
    use std::path::Path;

    fn launch() -> Launch {
        let site = Site {
            program: "/bin/agent".into(),
            scratch: "/tmp".into(),
            home: "/".into(),
            env: BTreeMap::new(),
            root: false,
        };
        Launch::new(&site, Path::new("/work here"))
    }

    #[test]
    fn what_is_removed_comes_before_what_is_set() {
        let mut launch = launch();
        launch.env("A", "1");
        launch.env.push(("B".into(), None));
        let set = [("A".to_owned(), "mine".to_owned()), ("C".to_owned(), "2 3".to_owned())];
        assert_eq!(
            command_line(&launch, &set.into(), &Mask::default()),
            "cd '/work here' && env -u B C='2 3' A=1 /bin/agent < /dev/null"
        );
    }

    #[test]
    fn without_changes_there_is_no_env_and_a_prompt_is_a_comment() {
        let mut launch = launch();
        launch.stdin = Stdin::Bytes(b"hello".to_vec());
        assert_eq!(
            command_line(&launch, &BTreeMap::new(), &Mask::default()),
            "cd '/work here' && /bin/agent # stdin: 5 bytes"
        );
    }
}
