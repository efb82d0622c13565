// What agentctl's gates have in common: whether a file lies in the allowed directories, whatever links lead there.
//
// Put between RIGHTS, of which it reads `roots`, and the gate of one CLI. What it cannot decide, it refuses: by an error.
import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";

function exists(path) {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (error.code === "ENOENT") return false;
    throw error;
  }
}

// The same place without symbolic links. A link that leads to nothing is refused: writing would follow it.
function real(path) {
  let missing = "";
  for (let at = path; ; at = dirname(at)) {
    if (exists(at)) {
      try {
        return join(realpathSync(at), missing);
      } catch (error) {
        throw error.code === "ENOENT" ? new Error("it is a link that leads to nothing") : error;
      }
    }
    if (dirname(at) === at) throw new Error("it lies nowhere");
    missing = join(basename(at), missing);
  }
}

function lies(path, root) {
  const way = relative(root, path);
  return way === "" || (!isAbsolute(way) && way !== ".." && !/^\.\.[\\/]/.test(way));
}

// The allowed directories as they are when the CLI starts; undefined: anywhere.
const ROOTS = RIGHTS.roots?.map((root) => realpathSync(root));

// Where a path leads, if it leads into the allowed directories; `asked` is what the model called it.
function confined(path, asked) {
  let place;
  try {
    place = real(path);
  } catch (error) {
    throw new Error(`${asked} cannot be checked: ${error.message}`);
  }
  if (!ROOTS.some((root) => lies(place, root))) throw new Error(`${asked} is outside of the allowed directories`);
  return place;
}
