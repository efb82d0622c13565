// agentctl's gate for Pi: the file-changing tools work in the directories of ROOTS and nowhere else.
//
// Pi confines nothing by itself. This file is written for one run, with ROOTS and DENIED put before it, and loaded with
// `-e`. Whatever it cannot decide, it refuses; if it cannot start, Pi does not start.
import { lstatSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";

const CHANGING = ["write", "edit"];

// Pi turns these into plain spaces before it opens a file.
const UNUSUAL_SPACES = /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g;

// The path that Pi would take the tool's argument for.
function meant(path, cwd) {
  let text = path.startsWith("@") ? path.slice(1) : path;
  text = text.replace(UNUSUAL_SPACES, " ");
  if (text === "~" || text.startsWith("~/")) text = homedir() + text.slice(1);
  return resolve(cwd, text);
}

// The same place without symbolic links. A link that leads to nothing is refused: writing would follow it.
function real(path) {
  let missing = "";
  for (let at = path; ; at = dirname(at)) {
    let there = true;
    try {
      lstatSync(at);
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
      there = false;
    }
    if (there) return join(realpathSync(at), missing);
    if (dirname(at) === at) throw new Error("no such place");
    missing = join(basename(at), missing);
  }
}

function lies(path, root) {
  const way = relative(root, path);
  return way === "" || (!isAbsolute(way) && way !== ".." && !/^\.\.[\\/]/.test(way));
}

export default function (pi) {
  const roots = ROOTS.map((root) => realpathSync(root));
  pi.on("tool_call", (event, context) => {
    if (!CHANGING.includes(event.toolName)) return undefined;
    const refuse = (why) => ({ block: true, reason: `${DENIED}: ${event.toolName} ${why}` });
    try {
      const asked = event.input.path;
      if (typeof asked !== "string") return refuse("names no path");
      const path = real(meant(asked, context.cwd ?? process.cwd()));
      if (!roots.some((root) => lies(path, root))) return refuse(`outside of the allowed directories: ${asked}`);
      if (path.search(UNUSUAL_SPACES) !== -1) return refuse(`at a path that Pi would misread: ${asked}`);
      // What was checked is what is used.
      event.input.path = path;
      return undefined;
    } catch (error) {
      return refuse(`at a path that cannot be checked (${error.message})`);
    }
  });
}
