/** docs/skip-what-was-seen.md: its modules keep what was seen when a program ends, and when it is killed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { folder, installed } from "../helpers/installed.mjs";
import { page } from "../interop/docs.mjs";

const { code } = page("skip-what-was-seen.md");
const { BloomFilter, ScalableBloomFilter } = await installed();

describe("what was seen is kept", { timeout: 120_000 }, () => {
  let cwd;
  let file;
  before(() => {
    cwd = mkdtempSync(join(folder, "seen-"));
    file = join(cwd, "seen.bloom");
    const [kept, crawler] = code["Keep it in Node"].js;
    writeFileSync(join(cwd, "seen.mjs"), kept);
    writeFileSync(join(cwd, "often.mjs"), kept.replace("60_000", "10"));
    writeFileSync(join(cwd, "crawl.mjs"), crawler);
    writeFileSync(join(cwd, "often-crawl.mjs"), crawler.replace("seen.mjs", "often.mjs"));
  });

  /** Runs a crawler over some links. Says what it fetched, and ends only when it is told to, unless `alone`. */
  async function crawl(links, { from = "crawl.mjs", alone = false, failing } = {}) {
    const script = `import { visit } from "./${from}";
      for (const link of ${JSON.stringify(links)})
        await visit(link, (url) => {
          if (url === ${JSON.stringify(failing)}) throw new Error("the work fails");
          console.log(url);
        });
      console.log("done");
      ${alone ? "" : "setInterval(() => {}, 1000);"}`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { cwd });
    const ended = once(child, "exit");
    let errors = "";
    child.stderr.on("data", (text) => (errors += text));
    const fetched = [];
    for await (const line of createInterface(child.stdout)) {
      if (line === "done") break;
      fetched.push(line);
    }
    return { child, ended, fetched, said: () => errors };
  }

  const QUERIES = ["http://a.example/?q=a+b", "http://a.example/?q=a%2Bb"];
  const LINKS = ["http://a.example", "http://A.example:80/#top", ...QUERIES, "mailto:a@a.example", "http://a b/"];

  test("until SIGTERM and SIGINT, and at the end", async () => {
    for (const [at, [signal, code]] of Object.entries({ SIGTERM: 143, SIGINT: 130 }).entries()) {
      const { child, ended, fetched } = await crawl([...LINKS, `http://${signal}.example`]);
      assert.deepEqual(fetched, [...(at === 0 ? [LINKS[0], ...QUERIES] : []), `http://${signal}.example`]);
      child.kill(signal);
      assert.deepEqual(await ended, [code, null]);
    }
    const { ended, fetched } = await crawl([...LINKS, "http://c.example"], { alone: true });
    assert.deepEqual([fetched, await ended], [["http://c.example"], [0, null]]);
    assert.ok(ScalableBloomFilter.decode(readFileSync(file)).has("http://c.example/"));
    assert.ok(!existsSync(`${file}.new`));
  });

  test("work that fails is done again, and the rest isn't", async () => {
    const links = ["http://d.example", "http://e.example"];
    const failed = await crawl(links, { failing: links[1] });
    assert.deepEqual([failed.fetched, await failed.ended], [links.slice(0, 1), [1, null]]);
    const again = await crawl(links, { alone: true });
    assert.deepEqual([again.fetched, await again.ended], [links.slice(1), [0, null]]);
  });

  test("by the timer, from a program that is killed", async () => {
    const { child, ended } = await crawl(["http://f.example"], { from: "often-crawl.mjs" });
    while (!ScalableBloomFilter.decode(readFileSync(file)).has("http://f.example/"))
      await new Promise((resolve) => setTimeout(resolve, 10));
    child.kill("SIGKILL");
    assert.deepEqual(await ended, [null, "SIGKILL"]);
    assert.ok(ScalableBloomFilter.decode(readFileSync(file)).has("http://f.example/"));
  });

  test("a file that can't be read as what it was is an error, and stays", async () => {
    const [whole, other] = [readFileSync(file), BloomFilter.from(["a"]).toBytes()];
    for (const [bytes, message] of [
      [whole.subarray(0, -1), /truncated/],
      [other, /wrong_kind/],
    ]) {
      writeFileSync(file, bytes);
      const { ended, fetched, said } = await crawl(LINKS, { alone: true });
      assert.deepEqual([fetched, await ended], [[], [1, null]]);
      assert.match(said(), message);
      assert.deepEqual(readFileSync(file), Buffer.from(bytes));
    }
    writeFileSync(file, whole);
  });

  test("two filters take turns", async () => {
    const [source] = code["When a false alarm does harm"].js;
    const path = join(cwd, "turns.mjs");
    writeFileSync(path, source);
    const { maybeHandled, turn } = await import(pathToFileURL(path).href);
    const asked = () => Array.from({ length: 1000 }, (_, i) => maybeHandled(`m-${i}`)).filter(Boolean).length;
    assert.ok(asked() < 10);
    assert.equal(asked(), 1000);
    turn();
    assert.equal(maybeHandled("m-7"), true);
    turn();
    assert.equal(maybeHandled("m-7"), true, "it came again in the last turn");
    assert.equal(maybeHandled("m-8"), false, "it is forgotten");
  });
});
