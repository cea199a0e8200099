/** The runtimes on the command line, installed if they are missing. */
import { join } from "node:path";
import { installed, NOT_INSTALLED } from "../../scripts/setup.mjs";

const packages = {
  "Node 22": { folder: "node22", version: "22.23.3", alias: "npm:node@" },
  "Node 24": { folder: "node24", version: "24.21.0", alias: "npm:node@" },
  "Node 26": { folder: "node26", version: "26.10.0", alias: "npm:node@" },
  Deno: { folder: "deno", version: "2.9.6", options: ["run", "--no-lock", "--allow-read"] },
  Bun: { folder: "bun", version: "1.4.5", options: ["run"] },
};

const named = Object.values(packages).map(({ folder, alias = "", version }) => `${folder}@${alias}${version}`);
const modules = installed("runtimes", named);

/** Each runtime's name and version, the beginning of a command that runs a script, or why it is missing. */
export const commands = Object.entries(packages).map(([name, { folder, version, alias, options = [] }]) => ({
  name,
  version,
  command: modules ? [alias ? join(modules, folder, "bin/node") : join(modules, ".bin", folder), ...options] : [],
  missing: !modules && NOT_INSTALLED,
}));
