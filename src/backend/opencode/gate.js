// agentctl's gate for OpenCode: no file read or changed outside of the allowed directories, whatever links lead there.
//
// OpenCode compares paths as they are written and then follows symbolic links. This file is written for one run, with
// RIGHTS and what all gates have in common put before it, and named in the configuration of the run:
//   agent       the agent of the run; its configuration does not let it read or edit
//   permission  the permissions that it gets here, once the gate stands: without the gate nothing is read or changed
//   roots       the directories in which files may be read and changed
//   instructions  the project's words for agents, for the system prompt; or null
//   changing    the built-in tools that change files
//   reading     those that read files and search in them
//   harmless    the other built-in tools
//   others      patterns of the names of further tools that may be used
//   denied      how the reason of every refusal begins
//   standing    what is said on stderr when the gate stands, unless a person looks at it
// Whatever it cannot decide, it refuses.

import { existsSync } from "node:fs";
import { homedir } from "node:os";

// What is longer than OpenCode shows at once is here, and the model is told to read it.
const OUTPUTS = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode", "tool-output");

// With a file, OpenCode gives the model the first of these beside it and in each folder above, up to its own directory.
const NEARBY = ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"];

const HEADERS = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

const refuse = (why) => {
  throw new Error(`${RIGHTS.denied}: ${why}`);
};

function leadsInside(path) {
  try {
    confined(path, path);
    return true;
  } catch {
    return false;
  }
}

function matches(name, pattern) {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, "[^]*").replace(/\?/g, "[^]");
  return new RegExp(`^${escaped}$`).test(name);
}

export const AgentctlGate = async ({ directory }) => {
  const checked = (asked) => {
    if (typeof asked !== "string" || asked === "") refuse("the call names no file");
    try {
      return confined(resolve(directory, asked), asked);
    } catch (error) {
      return refuse(error.message);
    }
  };

  const checkedToRead = (asked) => {
    if (typeof asked !== "string") refuse("the path is no text");
    const path = resolve(directory, asked);
    try {
      if (path !== OUTPUTS && lies(path, OUTPUTS) && lies(real(path), realpathSync(OUTPUTS))) return path;
      const place = confined(path, asked);
      for (let at = dirname(place); at.startsWith(directory) && at !== directory; at = dirname(at)) {
        for (const file of NEARBY.map((name) => join(at, name))) {
          if (existsSync(file)) confined(file, `${file}, which OpenCode would read too,`);
        }
      }
      return place;
    } catch (error) {
      return refuse(error.message);
    }
  };

  // Read as OpenCode reads it: a header is at the beginning of a line, and spaces around its path do not count.
  const checkedPatch = (text) => {
    if (typeof text !== "string") refuse("the patch is no text");
    let files = 0;
    const lines = text.split("\n").map((line) => {
      const header = HEADERS.find((header) => line.startsWith(header));
      if (header === undefined) return line;
      files += 1;
      const path = checked(line.slice(header.length).trim());
      if (path !== path.trim() || path.includes("\n")) refuse(`a patch cannot name ${path}`);
      return `${header} ${path}`;
    });
    if (files === 0) refuse("the patch names no file");
    return lines.join("\n");
  };

  return {
    config: async (config) => {
      config.agent[RIGHTS.agent].permission = RIGHTS.permission;
      if (RIGHTS.instructions !== null && leadsInside(RIGHTS.instructions)) {
        config.instructions = [RIGHTS.instructions, ...(config.instructions ?? [])];
      }
      if (!process.stderr.isTTY) process.stderr.write(`${RIGHTS.standing}\n`);
    },
    // What was checked is what is used: the arguments get the real path.
    "tool.execute.before": async ({ tool }, { args }) => {
      if (RIGHTS.harmless.includes(tool)) return;
      if (RIGHTS.reading.includes(tool)) {
        // Without a path it is the working directory; ripgrep, which searches, follows no links below it.
        for (const name of ["filePath", "path"]) {
          if (args[name] !== undefined && args[name] !== null) args[name] = checkedToRead(args[name]);
        }
        return;
      }
      if (!RIGHTS.changing.includes(tool)) {
        if (!RIGHTS.others.some((pattern) => matches(tool, pattern))) refuse(`${tool} is not permitted in this run`);
        return;
      }
      // Everything that could name a file, since a model may send arguments that the tool does not have.
      if (args.patchText !== undefined) args.patchText = checkedPatch(args.patchText);
      if (args.filePath !== undefined || args.patchText === undefined) args.filePath = checked(args.filePath);
      for (const edit of Array.isArray(args.edits) ? args.edits : []) {
        if (edit?.filePath !== undefined) edit.filePath = checked(edit.filePath);
      }
    },
  };
};
