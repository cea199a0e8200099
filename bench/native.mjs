/** Native code: the Rust peers with Criterion, what WebAssembly costs compared with it, and the command line tool. */
import { execFileSync, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { root } from "../scripts/setup.mjs";
import { lines, MEMBER } from "./keys.mjs";
import { peers } from "./peers.mjs";
import { race } from "./race.mjs";
import { claim, table } from "./table.mjs";

/** Builds a target, and returns the path of what was built. */
function cargo(target, ...args) {
  const options = { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 26 };
  const messages = execFileSync("cargo", [...args, "--locked", "--quiet", "--message-format=json"], options);
  const built = messages
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return built.find((message) => message.executable && message.target.name === target).executable;
}

const HAS = ["BloomFilter", "BloomFilter.has_many", "RibbonFilter", "RibbonFilter.has_many", "fastbloom"];
const GROUPS = {
  "has 0.01": HAS,
  "has 0.001": HAS,
  "add 0.01": ["BloomFilter", "fastbloom"],
  "add 0.001": ["BloomFilter", "fastbloom"],
  "has digests": ["RibbonFilter", "RibbonFilter.has_many_digests", "BinaryFuse8"],
  "build of digests": ["RibbonFilter", "BinaryFuse8"],
};

/** A program of Criterion's benchmarks: runs those that match a pattern, and reads medians in nanoseconds. */
function criterion(program, folder, variables) {
  const executable = cargo(program, "bench", "--manifest-path", "bench/Cargo.toml", "--bench", program, "--no-run");
  const env = { ...process.env, CRITERION_HOME: folder, ...variables };
  return {
    run: (pattern) =>
      execFileSync(executable, ["--bench", pattern, "--noplot"], { env, stdio: ["ignore", "ignore", "pipe"] }),
    median: (group, name) =>
      JSON.parse(readFileSync(join(folder, group, name, "new/estimates.json"))).median.point_estimate,
  };
}

export async function native(bench) {
  const { count, rounds } = bench;
  const criteria = criterion("peers", bench.folder(), { BLOOM_WASM_KEYS: count });
  const time = (group, name) => {
    criteria.run(`^${group}/${name}$`);
    return criteria.median(group, name) / count;
  };
  const tables = [];
  const claims = [];
  for (const [group, names] of Object.entries(GROUPS)) {
    const contestants = names.map((name) => ({ name, time: () => time(group, name) }));
    const fpr = Number(group.split(" ")[1]);
    for (const peer of group.startsWith("has 0") ? peers.filter(({ own }) => own) : []) {
      const { filter } = bench.built(peer, fpr);
      const check = (answers) => answers.reduce((sum, answer) => sum + answer, 0);
      contestants.push({
        name: `${peer.name} in WebAssembly`,
        keys: count,
        run: () => filter.hasLines(bench.queryText()),
        check,
      });
    }
    const times = await race(contestants, rounds);
    tables.push(table(`Rust, ${group}`, times, { rival: names.at(-1) }));
    for (const name of names.filter((name) => name.endsWith("has_many"))) {
      const one = name.split(".")[0];
      const against = (rival) => (time) => time[rival] / time[name];
      claims.push(claim(`${name} against one by one, fpr ${fpr}`, { atLeast: 1.6 }, times, against(one)));
      claims.push(claim(`${name} against fastbloom, fpr ${fpr}`, { atLeast: 1.5 }, times, against("fastbloom")));
    }
    for (const { name } of contestants.filter(({ run }) => run)) {
      const ratio = (time) => time[name] / time[`${name.split(" ")[0]}.has_many`];
      claims.push(claim(`${name} (hasLines) against native, fpr ${fpr}`, { atMost: 1.6 }, times, ratio));
    }
  }
  return { tables, claims };
}

/**
 * Filters too large for any cache, with ten and a hundred times as many keys as elsewhere: a million queries of
 * digests.
 */
export async function large(bench) {
  const tables = [];
  const claims = [];
  const kinds = ["BloomFilter", "RibbonFilter"];
  const names = kinds.flatMap((kind) => [kind, `${kind}.has_many_digests`]);
  const rounds = [...Array(bench.rounds).keys()];
  for (const count of [10 * bench.count, 100 * bench.count]) {
    const variables = { BLOOM_WASM_KEYS: count, BLOOM_WASM_ROUNDS: bench.rounds };
    const { run, median } = criterion("large", bench.folder(), variables);
    run("^large ");
    for (const fpr of [0.01, 0.001]) {
      const time = (name) => rounds.map((round) => median(`large ${fpr} ${round}`, name) / 1e6);
      const times = Object.fromEntries(names.map((name) => [name, time(name)]));
      const keys = count.toLocaleString("en");
      tables.push(table(`Rust, ${keys} keys, has digests ${fpr}`, times, { rival: "RibbonFilter" }));
      for (const one of kinds) {
        const ratio = (time) => time[one] / time[`${one}.has_many_digests`];
        const what = `${one}.has_many_digests against one by one, ${keys} keys, fpr ${fpr}`;
        claims.push(claim(what, { atLeast: 1.6 }, times, ratio));
      }
    }
  }
  return { tables, claims };
}

/** Building a ribbon filter from 10 times as many keys as elsewhere: 10 million lines in a file of 600 MB. */
export async function cli(bench) {
  const count = 10 * bench.count;
  const list = join(bench.folder(), "list.txt");
  const file = openSync(list, "w");
  for (let at = 0; at < count; at += 100_000)
    writeSync(
      file,
      lines(at, Math.min(at + 100_000, count), () => MEMBER),
    );
  closeSync(file);
  const executable = cargo("bloom-wasm", "build", "--release");
  const blob = join(bench.folder(), "list.bloom");
  const seconds = [];
  let peak = 0;
  for (let round = 0; round < Math.min(bench.rounds, 3); round++) {
    const start = performance.now();
    const child = spawn(executable, ["build", list, "-o", blob, "--fpr", "0.001"], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    // Linux records the peak memory of a process.
    const look = setInterval(() => {
      try {
        peak = Math.max(
          peak,
          1024 * Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0),
        );
      } catch {}
    }, 10);
    const status = await new Promise((resolve) => child.on("exit", resolve));
    clearInterval(look);
    if (status !== 0) throw new Error("bloom-wasm build failed");
    seconds.push((performance.now() - start) / 1000);
  }
  rmSync(list);
  const { count: built } = JSON.parse(execFileSync(executable, ["info", blob, "--json"], { encoding: "utf8" }));
  if (built !== count) throw new Error(`the filter has ${built} keys, not ${count}`);
  const claims = [
    claim("bloom-wasm build", { atLeast: 4, unit: "M lines/s" }, { seconds }, ({ seconds }) => count / 1e6 / seconds),
  ];
  if (peak > 0) {
    const memory = { atMost: 32, unit: "bytes a line" };
    claims.push(claim("bloom-wasm build: most memory", memory, { peak: [peak] }, ({ peak }) => peak / count));
  }
  return { tables: [], claims };
}
