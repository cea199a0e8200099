/**
 * Counts the instructions of fixed workloads with Valgrind. It fails if one takes over 5 % more than
 * bench/instructions.json says, unless a line in CHANGELOG.md gives the reason. The line starts from the recorded
 * number, or from the number where another such line ends:
 *
 *     ribbon hit: 104 to 121 instructions, because ...
 *
 * `npm run instructions -- --renew` records the numbers that have become smaller. It records larger ones only if the
 * compiler has changed.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { output, root, valgrind } from "./setup.mjs";

const FILE = join(root, "bench/instructions.json");
const GROWTH = 1.05;

/** The instructions of each workload for one operation. */
function count() {
  const build = [
    "build",
    "--manifest-path",
    "bench/Cargo.toml",
    "--release",
    "--locked",
    "--quiet",
    "--message-format=json",
  ];
  const { stdout, status } = spawnSync("cargo", build, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error(`cargo ${build.join(" ")} failed`);
  const messages = stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const program = messages.find(({ target, executable }) => executable && target.name === "instructions").executable;
  const names = output(program).trim().split("\n");
  return Object.fromEntries(names.map((name) => [name, countOne(program, name)]));
}

function countOne(program, name) {
  const options = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*measured*"];
  const { stdout, stderr, status } = spawnSync("valgrind", [...options, program, name], { encoding: "utf8" });
  const collected = Number(/Collected *: (\d+)/.exec(stderr)?.[1]);
  if (status !== 0 || !(collected > 0)) throw new Error(`counting ${name} failed:\n${stderr}`);
  return Math.round(collected / Number(stdout));
}

/**
 * The accepted number of a workload: the recorded one, followed through lines of the CHANGELOG that start where another
 * ends.
 */
export function known(name, recorded, changelog) {
  const lines = [...changelog.matchAll(/(?<name>[a-z][a-z ]*): (?<from>\d+) to (?<to>\d+) instructions, because \S/g)];
  for (let known = recorded; ; ) {
    const next = lines.find(
      ({ groups }) => groups.name === name && Number(groups.from) === known && Number(groups.to) > known,
    );
    if (!next) return known;
    known = Number(next.groups.to);
  }
}

export function instructions(renew = false) {
  if (process.platform !== "linux" || process.arch !== "x64")
    return console.log("instructions: skipped: the numbers are those of Linux on x86-64");
  if (!valgrind()) return console.log("instructions: skipped: there is no valgrind");
  const recorded = JSON.parse(readFileSync(FILE, "utf8"));
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const rustc = output("rustc", "--version").split(" ")[1];
  // Another compiler generates other instructions. Then the numbers are only shown.
  const comparable = rustc === recorded.rustc;
  if (!comparable)
    console.log(
      `instructions: not checked: recorded with rustc ${recorded.rustc}, but this is ${rustc}; --renew records them all`,
    );
  const counted = count();
  if (!renew && `${Object.keys(recorded.instructions)}` !== `${Object.keys(counted)}`)
    throw new Error("the workloads differ from the recorded ones: npm run instructions -- --renew");

  const grown = [];
  for (const [name, now] of Object.entries(counted)) {
    const file = recorded.instructions[name] ?? now;
    const before = known(name, file, changelog);
    console.log(`instructions: ${name} ${now}, known ${before}`);
    if (comparable && now > before * GROWTH) grown.push(`"${name}: ${before} to ${now} instructions, because ..."`);
    if (comparable) counted[name] = Math.min(now, file);
  }
  if (renew) writeFileSync(FILE, `${JSON.stringify({ rustc, instructions: counted }, null, 2)}\n`);
  if (grown.length)
    throw new Error(
      `more instructions than allowed; make it faster, or write into CHANGELOG.md ${grown.join(" and ")}`,
    );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    instructions(process.argv.includes("--renew"));
  } catch (error) {
    console.error(`instructions: ${error.message}`);
    process.exit(1);
  }
}
