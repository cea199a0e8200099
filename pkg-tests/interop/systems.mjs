/**
 * Other systems with filters, each a program that makes and asks them. A program gets jobs on standard input, one per
 * line, with words separated by tabs:
 *
 * make  SCHEME  FILTER  LIST  COUNT  FPR    makes a file of the list's keys, sized for COUNT
 *     ask   SCHEME  FILTER  LIST  ANSWERS       writes 1 for each key of the list that may be in there, else 0
 *
 * A list has one key per line. The first word of a scheme is how the lines become keys.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";
import { failure, go, guava, installed, java, made, output, pythonPackages, redis } from "../../scripts/setup.mjs";

const programs = import.meta.dirname;
const source = (name) => readFileSync(join(programs, name), "utf8");

// Programs started here are killed when this process exits, so a signal must let it exit.
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** How to run a program with jobs, or `{ missing }`: why it can't be run. */
const command = (program, args, env = {}) => ({ program, args, env: { ...process.env, ...env } });
const missing = (what) => ({ missing: `there is no ${what}, and it can't be installed here` });

/** Go packages: their names on GitHub and in Debian. */
const BLOOM = ["bits-and-blooms/bloom", "golang-github-willf-bloom-dev"];
const FLOR = ["DCSO/bloom", "golang-github-dcso-bloom-dev"];

/** How to run Go to compile a file that imports one of Debian's packages. */
export function goCommand([name, packaged] = BLOOM) {
  const found = go(name, packaged);
  if (!found) return missing(`Go with the package ${name} (Debian: golang-go, ${packaged})`);
  const cache = made("go-cache", [output(found.command, "version")], () => undefined);
  return command(found.command, [], { GO111MODULE: "off", GOPATH: found.path, GOCACHE: cache, GOFLAGS: "" });
}

/** A program of this folder, compiled with one of Debian's packages. */
function compiledGo(file, imported) {
  const { missing, program, env } = goCommand(imported);
  if (missing) return { missing };
  const compiled = made(`interop-${file}`, [source(file), output(program, "version")], (folder) =>
    failure(program, ["build", "-o", join(folder, "program"), join(programs, file)], { env }),
  );
  if (!compiled) throw new Error(`${file} could not be compiled`);
  return command(join(compiled, "program"), []);
}

export const goSystem = () => compiledGo("bloom.go", BLOOM);

export const florOfGo = () => compiledGo("dcso.go", FLOR);

/** A script of this folder, with a package of PyPI. */
function pythonSystem(file, packaged) {
  const path = pythonPackages(file.replace(".py", ""), [packaged]);
  if (!path) return missing(`Python with a package of PyPI: ${packaged}`);
  return command("python3", [join(programs, file)], { PYTHONPATH: path });
}

const BLOOM_FILTERS = "bloom-filters@3.0.4";

/** Where the npm package bloom-filters is, to import it; or why it isn't there. */
export function bloomFilters() {
  const modules = installed("bloom-filters", [BLOOM_FILTERS]);
  if (!modules) return missing(`package of npm: ${BLOOM_FILTERS}`);
  return { path: createRequire(join(modules, "user.cjs")).resolve("bloom-filters") };
}

export function bloomFiltersSystem() {
  const { missing, path } = bloomFilters();
  return missing ? { missing } : command(process.execPath, [join(programs, "bloom-filters.mjs"), path]);
}

export const bloomFilter2System = () => pythonSystem("bloom-filter2.py", "bloom-filter2==2.0.0");

export const florOfPython = () => pythonSystem("dcso.py", "flor==1.1.3");

/** A class of this folder, compiled against jars. */
function javaSystem(name, jar) {
  const version = java();
  if (!version) return missing("Java compiler of version 17 or later (Debian: default-jdk-headless)");
  const compiled = made(`interop-${name}`, [source(`${name}.java`), jar, version], (folder) =>
    failure("javac", ["-d", folder, "-cp", jar, join(programs, `${name}.java`)]),
  );
  if (!compiled) throw new Error(`${name}.java could not be compiled`);
  return command("java", ["-Xss512k", "-XX:TieredStopAtLevel=1", "-cp", `${compiled}${delimiter}${jar}`, name]);
}

/** The jar of Guava. */
export function guavaClasses() {
  const jar = guava();
  return jar ? { jar } : missing("Guava (Debian: libguava-java)");
}

export function guavaSystem() {
  const { missing, jar } = guavaClasses();
  return missing ? { missing } : javaSystem("Guava", jar);
}

const PYSPARK = "pyspark==4.3.0";
const HASHES = ["mmh3==5.3.1", "xxhash==4.1.0"];

/** The folder of PySpark for PYTHONPATH, which contains all of Spark; or why there is none. */
export function pyspark() {
  if (!java()) return missing("Java of version 17 or later (Debian: default-jdk-headless)");
  const path = pythonPackages("pyspark", [PYSPARK]);
  return path ? { path } : missing(`PySpark (PyPI: ${PYSPARK})`);
}

/** The folder of the Python packages that examples/spark hashes with; or why there is none. */
export function sparkHashes() {
  const path = pythonPackages("spark-hashes", HASHES);
  return path ? { path } : missing(`Python with packages of PyPI: ${HASHES.join(", ")}`);
}

/**
 * Runs a Python script with spark-submit in a folder, with some settings and maybe arguments, on loopback only. It can
 * import what is in the folder `packages`.
 */
export async function sparkSubmit(cwd, master, script, settings = {}, packages = "") {
  const { path } = pyspark();
  const quick = "-XX:TieredStopAtLevel=1"; // it ends before better code would pay off
  const defaults = {
    "spark.ui.enabled": false,
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": quick,
    "spark.executor.extraJavaOptions": quick,
  };
  const conf = Object.entries({ ...defaults, ...settings }).flatMap(([name, value]) => ["--conf", `${name}=${value}`]);
  const env = {
    ...process.env,
    PYTHONPATH: [path, packages].filter(Boolean).join(delimiter),
    SPARK_HOME: join(path, "pyspark"),
    PYSPARK_PYTHON: "python3",
    SPARK_LOCAL_IP: "127.0.0.1",
    SPARK_LOCAL_HOSTNAME: "localhost",
    SPARK_LOCAL_DIRS: join(cwd, "spark-local"),
    SPARK_WORKER_DIR: join(cwd, "spark-work"),
  };
  await ended(join(path, "pyspark/bin/spark-submit"), ["--master", master, ...conf, ...[script].flat()], {
    cwd,
    env,
  });
}

export function sparkSystem() {
  const { missing, path } = pyspark();
  if (missing) return { missing };
  const jars = join(path, "pyspark/jars");
  const jar = readdirSync(jars).find((name) => name.startsWith("spark-sketch"));
  return javaSystem("Spark", join(jars, jar));
}

/** The Guava that comes with Spark, which is newer than Debian's. */
export function newerGuavaSystem() {
  const { missing, path } = pyspark();
  if (missing) return { missing };
  const jars = join(path, "pyspark/jars");
  const jar = readdirSync(jars).find((name) => name.startsWith("guava-"));
  return jar ? javaSystem("Guava", join(jars, jar)) : { missing: "this Spark has no Guava" };
}

const CLIENTS = ["redis==8.1.0", "mmh3==5.3.1"];

/** The folder of Python's clients of Redis and mmh3, and the path of the server; or why there are none. */
export function redisTools() {
  const server = redis();
  if (!server) return missing("Redis (Debian: redis-server)");
  const path = pythonPackages("redis", CLIENTS);
  return path ? { server, path } : missing(`client of Redis (PyPI: ${CLIENTS.join(", ")})`);
}

export function redisSystem() {
  const { missing, path } = redisTools();
  return missing ? { missing } : command("python3", [join(programs, "bitmap.py")], { PYTHONPATH: path });
}

/** Runs `use(port)` while a Redis server listens on loopback. It writes nothing to the disk. */
export async function withRedis(use) {
  const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-redis-"));
  const port = await freePort();
  const options = ["--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
  const server = spawn(redis(), options.map(String), { stdio: ["ignore", "pipe", "inherit"] });
  const kill = () => server.kill("SIGKILL");
  process.once("exit", kill);
  try {
    const ended = once(server, "exit").then(([code]) => assertRunning(code));
    await Promise.race([ready(server.stdout), ended]);
    server.stdout.resume();
    return await use(port);
  } finally {
    kill();
    process.off("exit", kill);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function ready(printed) {
  for await (const line of createInterface(printed)) if (line.includes("Ready to accept connections")) return;
}

function assertRunning(code) {
  throw new Error(`redis-server ended with ${code} before it was ready`);
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Runs a system's program with jobs. */
export function run({ program, args, env }, jobs, ...more) {
  const input = jobs.map((job) => `${job.join("\t")}\n`).join("");
  return ended(program, [...args, ...more.map(String)], { env, input });
}

/**
 * Waits until a program has ended, and throws its error output if it failed. Its own children end with it, and all end
 * with this process.
 */
async function ended(program, args, { input = "", ...options }) {
  const child = spawn(program, args, { ...options, detached: true, stdio: ["pipe", "ignore", "pipe"] });
  const kill = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // All have ended.
    }
  };
  process.once("exit", kill);
  try {
    child.stdin.on("error", () => {}); // It has ended already, and says why.
    child.stdin.end(input);
    const said = buffer(child.stderr);
    const [code, signal] = await once(child, "exit");
    kill();
    if (code !== 0)
      throw new Error(`${program} ended with ${code ?? signal}: ${(await said).toString().slice(-20_000)}`);
  } finally {
    process.off("exit", kill);
  }
}
