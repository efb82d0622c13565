//! Commands as a person would type them.

use crate::backend::Launch;
use std::ffi::OsStr;

/// One argument, quoted for a POSIX shell.
pub fn quote(text: &OsStr) -> String {
    let text = text.to_string_lossy();
    match shlex::try_quote(&text) {
        Ok(quoted) => quoted.into_owned(),
        // A NUL cannot be typed at all.
        Err(_) => format!("{text:?}"),
    }
}

/// A launch as one line: directory, changes to the environment, program, arguments.
pub fn command_line(launch: &Launch) -> String {
    let mut words = vec![
        "cd".to_owned(),
        quote(launch.cwd.as_os_str()),
        "&&".to_owned(),
        "env".to_owned(),
    ];
    for (name, value) in &launch.env {
        match value {
            Some(value) => words.push(format!("{}={}", quote(name), quote(value))),
            None => words.extend(["-u".to_owned(), quote(name)]),
        }
    }
    if launch.env.is_empty() {
        words.pop();
    }
    words.push(quote(launch.program.as_os_str()));
    words.extend(launch.args.iter().map(|arg| quote(arg)));
    words.join(" ")
}
