// agentctl's gate for OpenCode: no file changed outside of the allowed directories, whatever links lead there.
//
// OpenCode compares paths as they are written and then follows symbolic links. This file is written for one run, with
// RIGHTS and what all gates have in common put before it, and named in the configuration of the run:
//   agent       the agent of the run; its configuration does not let it edit
//   permission  the permissions that it gets here, once the gate stands: without the gate nothing can be changed
//   roots       the directories in which files may be changed
//   changing    the built-in tools that change files
//   harmless    the other built-in tools
//   others      patterns of the names of further tools that may be used
//   denied      how the reason of every refusal begins
//   standing    what is said on stderr when the gate stands, unless a person looks at it
// Whatever it cannot decide, it refuses.

const HEADERS = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

const refuse = (why) => {
  throw new Error(`${RIGHTS.denied}: ${why}`);
};

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
      if (!process.stderr.isTTY) process.stderr.write(`${RIGHTS.standing}\n`);
    },
    // What was checked is what is used: the arguments get the real path.
    "tool.execute.before": async ({ tool }, { args }) => {
      if (RIGHTS.harmless.includes(tool)) return;
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
