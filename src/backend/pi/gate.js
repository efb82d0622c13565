// agentctl's gate for Pi: no tool but the permitted ones, and no file changed outside of the allowed directories.
//
// Pi confines nothing by itself. This file is written for one run, with RIGHTS and what all gates have in common put before
// it, and loaded with `-e`:
//   roots    the directories in which `write` and `edit` may work; null: anywhere
//   offered  the built-in tools of this run
//   mcp      names of MCP tools, or what their names begin with, up to a double underscore
//   refused  the same, of those that are refused all the same
//   denied   how the reason of every refusal begins
// Whatever it cannot decide, it refuses; if it cannot start, Pi does not start.
import { homedir } from "node:os";

const CHANGING = ["write", "edit"];

// Pi turns these into plain spaces before it opens a file.
const UNUSUAL_SPACES = /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g;

function permitted(name) {
  const named = (patterns) => patterns.some((pattern) => name === pattern || name.startsWith(`${pattern}__`));
  return RIGHTS.offered.includes(name) || (name.startsWith("mcp__") && named(RIGHTS.mcp) && !named(RIGHTS.refused));
}

// The path that Pi would take the tool's argument for.
function meant(path, cwd) {
  let text = path.startsWith("@") ? path.slice(1) : path;
  text = text.replace(UNUSUAL_SPACES, " ");
  if (text === "~" || text.startsWith("~/")) text = homedir() + text.slice(1);
  return resolve(cwd, text);
}

export default function (pi) {
  const refuse = (why) => ({ block: true, reason: `${RIGHTS.denied}: ${why}` });

  pi.on("session_start", () => {
    const names = [...RIGHTS.offered, ...pi.getAllTools().map((tool) => tool.name)];
    pi.setActiveTools([...new Set(names)].filter(permitted));
  });

  pi.on("tool_call", (event, context) => {
    const name = event.toolName;
    if (!permitted(name)) return refuse(`${name} is not permitted in this run`);
    if (!ROOTS || !CHANGING.includes(name)) return undefined;
    try {
      const asked = event.input.path;
      if (typeof asked !== "string") return refuse(`${name} names no path`);
      const path = confined(meant(asked, context.cwd ?? process.cwd()), asked);
      if (path.search(UNUSUAL_SPACES) !== -1) return refuse(`Pi would misread the path ${asked}`);
      // What was checked is what is used.
      event.input.path = path;
      return undefined;
    } catch (error) {
      return refuse(error.message);
    }
  });
}
