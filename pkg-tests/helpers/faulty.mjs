/**
 * Loaded before the tool: of the calls that change files, number FAULT fails. With FULL, a full disk, all later writing
 * calls fail, too; with KILL, the tool is killed instead. LOG gets the names of the calls that failed.
 */
import fs, { appendFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const { FAULT, FULL, KILL, LOG } = process.env;
const append = appendFileSync;
let calls = 0;
const { O_CREAT } = fs.constants;
const changes = {
  openSync: (_, flags) => typeof flags === "number" && flags & O_CREAT,
  writevSync: (fd) => fd > 2,
  fsyncSync: () => true,
  renameSync: () => true,
  unlinkSync: () => true,
};
for (const [name, is] of Object.entries(changes)) {
  const real = fs[name];
  fs[name] = (...args) => {
    if (is(...args) && (!FULL || name === "writevSync")) {
      calls += 1;
      if (FULL ? calls >= FAULT : calls === Number(FAULT)) {
        append(LOG, `${name}\n`);
        if (KILL) process.kill(process.pid, "SIGKILL");
        throw Object.assign(new Error("full"), { code: "ENOSPC" });
      }
    }
    return real(...args);
  };
}
syncBuiltinESMExports();
