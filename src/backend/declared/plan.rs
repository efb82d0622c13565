//! The command of a declared backend.

use super::template::{Placeholder, fill};
use super::{Declaration, PromptBy};
use crate::backend::{Launch, Plan, Site, Stdin, options};
use crate::error::Failure;
use crate::request::{Conversation, Permission, Persistence, PromptSyntax, Request};
use std::borrow::Cow;
use std::path::Path;

/// One argument is at most this long on Linux (128 KiB with its end).
const ARGUMENT_LIMIT: usize = 128 * 1024 - 1;

pub fn headless(
    declaration: &Declaration,
    prompt_by: PromptBy,
    request: &Request,
    site: &Site,
) -> Result<Plan, Failure> {
    options::check(&declaration.name, &request.options, &[])?;
    let mut launch = Launch::new(site, &request.cwd);
    let cwd = text(&request.cwd, Placeholder::Cwd, &declaration.args)?;
    let prompt = literal(declaration, request);
    let prompt_file = site.scratch("prompt.txt");
    let mut values = vec![(Placeholder::Cwd, cwd)];
    let mut args = declaration.args.clone();
    match prompt_by {
        PromptBy::Stdin => launch.stdin = Stdin::Bytes(prompt.as_bytes().to_vec()),
        PromptBy::File => {
            place(&mut args, Placeholder::PromptFile);
            launch.file(&prompt_file, prompt.as_bytes());
            let path = text(&prompt_file, Placeholder::PromptFile, &args)?;
            values.push((Placeholder::PromptFile, path));
        }
        PromptBy::Argument => place(&mut args, Placeholder::Prompt),
    }
    let given;
    if prompt_by == PromptBy::Argument {
        given = as_argument(&args, &prompt)?;
        values.push((Placeholder::Prompt, &given));
    }
    // What comes last may be the prompt, behind a `--`: everything else goes before the arguments that hold it.
    let mut further = Vec::new();
    session_args(declaration, request, &mut further)?;
    option_args(declaration, request, site, &mut launch, &mut further)?;
    let end = args.iter().position(|arg| {
        arg == "--" || arg.contains(Placeholder::Prompt.text()) || arg.contains(Placeholder::PromptFile.text())
    });
    let (before, after) = args.split_at(split(&args, end));
    launch.args(fill(before, &values)).args(further);
    launch.args(request.raw_args.clone()).args(fill(after, &values));
    Ok(Plan {
        launch,
        warnings: Vec::new(),
    })
}

/// A path for a template, which is text. Another one in its place would carry the wrong rights.
fn text<'a>(path: &'a Path, placeholder: Placeholder, template: &[String]) -> Result<&'a str, Failure> {
    let asked_for = || template.iter().any(|arg| arg.contains(placeholder.text()));
    match path.to_str() {
        Some(text) => Ok(text),
        None if !asked_for() => Ok(""),
        None => Err(Failure::usage(format!(
            "{}: not a name that {} can stand for",
            path.display(),
            placeholder.text()
        ))
        .hint("use a directory whose name is valid UTF-8")),
    }
}

/// Where the further arguments go: before the prompt, and before the flag whose value it is.
fn split(args: &[String], end: Option<usize>) -> usize {
    match end {
        None => args.len(),
        Some(position) if position > 0 && is_flag_of_prompt(&args[position - 1]) && args[position] != "--" => {
            position - 1
        }
        Some(position) => position,
    }
}

fn is_flag_of_prompt(arg: &str) -> bool {
    arg.starts_with('-') && arg != "--"
}

fn place(args: &mut Vec<String>, placeholder: Placeholder) {
    if !args.iter().any(|arg| arg.contains(placeholder.text())) {
        args.push(placeholder.text().to_owned());
    }
}

/// The prompt as one argument: a whole one never reads as a flag.
fn as_argument(args: &[String], prompt: &str) -> Result<String, Failure> {
    let hint = "declare `prompt = \"stdin\"` or `\"{prompt_file}\"` if the program takes one of them";
    if prompt.len() > ARGUMENT_LIMIT {
        let message = format!("the prompt has {} bytes, too many for an argument", prompt.len());
        return Err(Failure::usage(message).hint(hint));
    }
    if prompt.contains('\0') {
        return Err(Failure::usage("the prompt holds a NUL, which no argument can").hint(hint));
    }
    let alone = args.iter().position(|arg| arg == Placeholder::Prompt.text());
    let guarded = alone.is_some_and(|position| args[..position].iter().any(|arg| arg == "--"));
    match alone {
        Some(_) if !guarded && prompt.starts_with('-') => Ok(format!(" {prompt}")),
        _ => Ok(prompt.to_owned()),
    }
}

/// The prompt, kept from being taken as a command where the declaration says how.
fn literal<'a>(declaration: &Declaration, request: &'a Request) -> Cow<'a, str> {
    let acted_on = request.prompt.trim_start().starts_with(['/', '@', '!', '$', '?']);
    match (&declaration.literal_prefix, request.prompt_syntax) {
        (Some(prefix), PromptSyntax::Literal) if acted_on => Cow::Owned(format!("{prefix}{}", request.prompt)),
        _ => Cow::Borrowed(&request.prompt),
    }
}

fn session_args(declaration: &Declaration, request: &Request, args: &mut Vec<String>) -> Result<(), Failure> {
    match &request.conversation {
        Conversation::Fresh { id } => {
            let id = id.to_string();
            let ephemeral = request.persistence == Persistence::Ephemeral;
            let template = match &declaration.ephemeral_args {
                Some(template) if ephemeral => Some(template),
                _ => declaration.session_args_new.as_ref(),
            };
            args.extend(
                template
                    .iter()
                    .flat_map(|template| fill(template, &[(Placeholder::Session, &id)])),
            );
        }
        Conversation::Resume(continuation) => {
            let id = &continuation.native_id;
            if id.is_empty() || id.starts_with('-') || id.chars().any(char::is_control) {
                return Err(Failure::usage(format!("`{id}` is no id of a conversation")));
            }
            // What its arguments for a run that leaves nothing mean here, nobody said.
            request.must_be_stored(declaration.display_name.as_deref().unwrap_or("this backend"))?;
            let template = declaration.session_args_resume.iter();
            args.extend(template.flat_map(|template| fill(template, &[(Placeholder::Session, id)])));
        }
        Conversation::Fork { .. } => {
            return Err(Failure::usage(format!(
                "{} cannot copy a conversation",
                declaration.name
            )));
        }
    }
    Ok(())
}

fn option_args(
    declaration: &Declaration,
    request: &Request,
    site: &Site,
    launch: &mut Launch,
    args: &mut Vec<String>,
) -> Result<(), Failure> {
    let mut add = |template: &Option<Vec<String>>, placeholder: Placeholder, value: &str| {
        args.extend(
            template
                .iter()
                .flat_map(|template| fill(template, &[(placeholder, value)])),
        );
    };
    let rights = match request.permission {
        Permission::ReadOnly => &declaration.read_only_args,
        Permission::Edit => &declaration.edit_args,
        Permission::Full => &declaration.full_args,
    };
    let cwd = text(&request.cwd, Placeholder::Cwd, rights.as_deref().unwrap_or_default())?;
    add(rights, Placeholder::Cwd, cwd);
    if let Some(model) = &request.model {
        add(&declaration.model_args, Placeholder::Model, model);
    }
    if let (Some(system), Some(template)) = (&request.system, &declaration.system_args) {
        let path = site.scratch("system.md");
        let name = text(&path, Placeholder::SystemFile, template)?;
        add(&declaration.system_args, Placeholder::SystemFile, name);
        launch.file(path, system.text.as_bytes());
    }
    for directory in &request.add_dirs {
        let template = declaration.add_dir_args.as_deref().unwrap_or_default();
        let directory = text(directory, Placeholder::Dir, template)?;
        add(&declaration.add_dir_args, Placeholder::Dir, directory);
    }
    if let Some(turns) = request.max_turns {
        add(&declaration.max_turns_args, Placeholder::MaxTurns, &turns.to_string());
    }
    Ok(())
}
