/** Build on the site, in Chromium: lists become filters in a worker, while the page stays free. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, createWriteStream, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { root } from "../../scripts/setup.mjs";
import { PATIENCE, playwright, noChromium as skip } from "../helpers/browsers.mjs";
import { installed } from "../helpers/installed.mjs";
import { downloaded, drop, gone, open, shows, temporary } from "../helpers/www.mjs";

if (skip) console.log(`site/build.long.test.mjs skipped: ${skip}`);
const windows = process.platform === "win32" && "the command is for a POSIX shell";
const { decode } = await installed("bloom-wasm/reader");

/** Records how long the tasks of the page's main thread take, if over 50 ms. */
const watchTasks = (page) =>
  page.addInitScript(() => {
    globalThis.tasks = [];
    new PerformanceObserver((list) =>
      globalThis.tasks.push(...list.getEntries().map(({ duration }) => duration)),
    ).observe({
      type: "longtask",
      buffered: true,
    });
  });

describe("Build", { skip, timeout: 10 * PATIENCE }, () => {
  let browser;
  let page;
  before(async () => {
    browser = await playwright();
  });
  after(() => browser?.close());

  async function fresh(prepare) {
    await page?.context().close();
    page = await open(browser, "build/", { prepare });
  }

  /** A list in a file, from a function of the line's number. */
  async function list(name, count, line) {
    const path = join(temporary, name);
    const file = createWriteStream(path);
    for (let at = 0; at < count; at += 10_000) {
      const lines = Array.from({ length: Math.min(10_000, count - at) }, (_, i) => line(at + i));
      file.write(`${lines.join("\n")}\n`);
    }
    file.end();
    await finished(file);
    return path;
  }

  const upload = (name, bytes) => page.setInputFiles("#file", { name, mimeType: "", buffer: Buffer.from(bytes) });
  const press = () => page.locator("#build").click();
  const row = (head) => page.locator("#figures tr", { hasText: head }).locator("td").textContent();
  const built = () => page.locator("#download").waitFor();

  /** How many made-up keys were asked and how many matched, according to the page. */
  async function measured() {
    const text = await row("False positives, measured");
    const [, matched, asked] = /: ([\d,]+) of ([\d,]+) made-up/.exec(text) ?? assert.fail(text);
    return [matched, asked].map((number) => Number(number.replaceAll(",", "")));
  }

  test("builds from a million lines while the page stays free", async (t) => {
    await fresh(watchTasks);
    const key = (at) => `user-${(at * 2654435761) % 2 ** 32}-${at}`;
    await page.setInputFiles("#file", await list("million.txt", 1_000_000, key));
    await shows(page, "#file-name", /^million\.txt, \d+(\.\d)?\sMB$/);
    await press();
    await page.locator("#progress[value]").waitFor();
    await page.evaluate(() => {
      globalThis.tasks.length = 0; // earlier tasks, of the page's start, don't count
    });
    await built();
    const longest = await page.evaluate(() => Math.max(0, ...globalThis.tasks));
    t.diagnostic(`the longest task of the main thread: ${longest} ms (0 = below 50)`);
    await shows(page, "#headline", /^1,000,000 keys in 1\.25\sMB: \d+ times smaller than the list\.$/);
    const { name, bytes } = await downloaded(page, "#download");

    assert.equal(name, "million.bloom");
    const filter = decode(bytes);
    assert.equal(filter.kind, "ribbon");
    for (let at = 0; at < 1_000_000; at++) if (!filter.has(key(at))) assert.fail(`lost ${key(at)}`);
    let nonmembers = 0;
    for (let at = 0; at < 200_000; at++) if (filter.has(`stranger-${at}`)) nonmembers++;
    assert.ok(nonmembers > 130 && nonmembers < 270, `${nonmembers} of 200,000, at 0.001`);
    const [matched, asked] = await measured();
    t.diagnostic(`measured: ${matched} of ${asked}; ${await row("Time to build")}`);
    assert.ok(asked > 9_000, `${asked} asked`);
    assert.ok(Math.abs(matched - asked / 1000) < 6 * Math.sqrt(asked / 1000) + 1, `${matched} of ${asked}`);
    assert.deepEqual(page.errors, []);
  });

  test("measures with keys that aren't on the list, even if nearly all similar keys are", async () => {
    await fresh();
    // Nine of ten numbers of up to five digits have no leading zero.
    await page.setInputFiles("#file", await list("numbers.txt", 90_000, (at) => `${at + 10_000}`));
    await page.locator("#fpr").fill("0.01");
    await press();
    await built();
    const [matched, asked] = await measured();
    // A made-up number has five digits, and a tenth of those begin with 0.
    assert.ok(asked > 800, `${asked} asked`);
    // There are 10,000 such numbers, and each is asked once.
    assert.ok(asked <= 10_000, `${asked} asked`);
    assert.ok(matched / asked > 0.005 && matched / asked < 0.015, `${matched} of ${asked}`);
  });

  test("says what chance makes of the rate that was asked for", async () => {
    await fresh();
    const bounds = async () => {
      const text = (await row("False positives, measured")).replaceAll("\u00a0", " ");
      const words =
        /\. At exactly 1 in ([\d,.]+), chance alone gives between 1 in ([\d,.]+) and 1 in ([\d,.]+) in a sample/;
      const [, ...numbers] = words.exec(text) ?? assert.fail(text);
      return numbers.map((number) => Number(number.replaceAll(",", "")));
    };
    await page.setInputFiles("#file", await list("keys.txt", 5_000, (at) => `user-${(at * 2654435761) % 2 ** 32}`));
    const fpr = 0.02;
    await page.locator("#fpr").fill(String(fpr));
    await press();
    await built();
    const [matched, asked] = await measured();
    const [rate, high, low] = await bounds();
    assert.equal(rate, 1 / fpr);
    // Three standard deviations of a binomial distribution.
    const spread = 3 * Math.sqrt((fpr * (1 - fpr)) / asked);
    assert.ok(Math.abs(high * (fpr - spread) - 1) < 0.02, `${high} for ${asked} asked`);
    assert.ok(Math.abs(low * (fpr + spread) - 1) < 0.02, `${low} for ${asked} asked`);
    assert.ok(matched / asked < (fpr + spread) * 1.2, `${matched} of ${asked}`);
    await page.locator("#fpr").fill("1e-9");
    await press();
    await shows(page, "#figures", /1\sin\s1,000,000,000 would be less than one of them: too few to compare\./);
  });

  test("makes every kind, as the package does", async () => {
    await fresh();
    const keys = Array.from({ length: 2_000 }, (_, at) => `key ${at}`);
    await drop(page, "#drop", "keys.txt", `\ufeff${keys.join("\r\n")}`);
    for (const kind of ["Bloom", "Cuckoo", "Counting", "Scalable", "Ribbon"]) {
      await page.getByText(kind, { exact: true }).click();
      await press();
      await shows(page, "#figures", new RegExp(`${kind.toLowerCase()} filter`));
      const { bytes } = await downloaded(page, "#download");
      const filter = decode(bytes);
      assert.equal(filter.kind, kind.toLowerCase());
      assert.equal(filter.hasAll(keys), true);
      const expected = `npx bloom-wasm build keys.txt -o keys.bloom ${kind === "Ribbon" ? "" : `--kind ${filter.kind} `}--fpr 0.001`;
      assert.equal(await page.locator("#command").textContent(), expected);
    }
  });

  const profile = () => page.locator("[name=profile]:checked").inputValue();
  const reason = () => page.locator("#profile-why").textContent();
  /** Waits until the page has looked at the list. */
  const judged = async (name) => {
    await shows(page, "#file-name", name);
    await page.waitForTimeout(300);
  };

  test("takes the profile from the list, unless the visitor has chosen", async () => {
    await fresh();
    const many = Array.from({ length: 60_000 }, (_, at) => `host-${at}.example.com`).join("\n");
    for (const [name, bytes, its, why] of [
      ["words.txt", "password\nhunter2\nletmein.\n3.14\n", "raw", /^$/],
      ["hosts", "# hosts\n127.0.0.1 localhost\n0.0.0.0 evil.com\n0.0.0.0\tbad.com\n", "url", /^3 of 3/],
      ["half.txt", "a.com\nb\n", "raw", /^$/],
      ["adblock.txt", "[Adblock Plus]\n! a comment\n||evil.com^\n||bad.com^$third-party\n", "url", /^2 of 2/],
      ["many.txt.gz", gzipSync(many), "url", /^1,000 of the first 1,000 lines/],
      ["mail.txt", "me@a.com\nyou@b.com\n", "raw", /^$/],
    ]) {
      await upload(name, bytes);
      await judged(name);
      assert.equal(await profile(), its, name);
      assert.match(await reason(), why, name);
    }
    await page.getByText("Or paste it").click();
    await page.locator("#pasted").fill("evil.com\nbad.com");
    await shows(page, "#profile-why", /^2 of 2 lines/);
    assert.equal(await profile(), "url");

    // What the visitor chooses stays, and the page says what speaks against it.
    await page.getByText("Just keys").click();
    await shows(page, "#profile-why", /^2 of 2 lines look like URLs or hosts\. As plain keys .*“URLs and hosts”/);
    await upload("more.txt", "evil.com\nbad.com\nworse.com\n");
    await shows(page, "#profile-why", /^3 of 3 lines/);
    assert.equal(await profile(), "raw");
    await page.locator("#form").getByText("Passwords", { exact: true }).click();
    await upload("yet-more.txt", "evil.com\n");
    await judged("yet-more.txt");
    assert.deepEqual([await profile(), await reason()], ["password", ""]);
    assert.equal(await page.locator("#fpr").inputValue(), "0.0001");

    // To click on what is chosen anyway is a choice too.
    await fresh();
    await page.getByText("Just keys").click();
    await upload("hosts.txt", "evil.com\n");
    await shows(page, "#profile-why", /^1 of 1 line looks like a URL or host\. As plain keys/);
    assert.equal(await profile(), "raw");
    assert.deepEqual(page.errors, []);
  });

  test("warns of lists that look like others, where the tool does", async () => {
    const tool = join(root, "target/release/bloom-wasm");
    const sha1 = (at) => at.toString(16).toUpperCase().padStart(40, "5");
    const { LISTS } = await import("../../scripts/lists.mjs");
    for (const [name, keys] of Object.entries({
      mail: LISTS.mail().keys,
      passwords: LISTS.passwords().keys.slice(0, 20_000),
      ids: Array.from({ length: 2000 }, (_, at) => `id-${at}`),
      fewHosts: Array.from({ length: 2000 }, (_, at) => (at % 3 ? `id-${at}` : `h${at}.com`)),
      manyHosts: Array.from({ length: 2000 }, (_, at) => (at % 3 ? `h${at}.com` : `id-${at}`)),
      hashes: Array.from({ length: 2000 }, (_, at) => sha1(at)),
      counted: Array.from({ length: 2000 }, (_, at) => `${sha1(at)}:${at}`),
    })) {
      const path = join(temporary, `${name}.txt`);
      writeFileSync(path, `${keys.join("\n")}\n`);
      const { stderr } = spawnSync(tool, ["build", path, "-o", `${path}.bloom`], { encoding: "utf8" });
      const [urls, hashes] = [/look like URLs or hosts/, /look like SHA-1 hashes/].map((words) => words.test(stderr));
      await fresh();
      await page.setInputFiles("#file", path);
      await judged(`${name}.txt`);
      assert.equal(await profile(), urls ? "url" : "raw", name);
      await page.getByText("Just keys").click();
      await press();
      await built();
      const doubt = await page.locator("#doubt").textContent();
      assert.equal(
        /^[\d,]+ of [\d,]+ lines .* look like URLs or hosts\. .*“URLs and hosts”/.test(doubt),
        urls,
        `${name}: ${doubt}`,
      );
      assert.equal(/^[\d,]+ of [\d,]+ lines .* look like hashes .*--sha1/.test(doubt), hashes, `${name}: ${doubt}`);
    }
  });

  test("reads URLs with an allowlist, and says what it left out", async () => {
    await fresh();
    await page.getByText("Or paste it").click();
    await page
      .locator("#pasted")
      .fill(
        "bad.example\n||worse.example^\n0.0.0.0 worst.example\ngood.example\n@@||x.example^$third-party\nhttp://\n",
      );
    await page.getByText("URLs and hosts").click();
    await page.getByText("Keys that must never match").click();
    await page.locator("#allow").fill("good.example\nfine.example");
    await page.locator("#allow-wins").check();
    await page.locator("#name").fill("my list");
    await press();
    await shows(page, "#left-out", /1 line: an adblock rule other than \|\|host\^, such as @@\|\|x\.example/);
    await shows(page, "#left-out", /1 line: neither a URL nor a host, such as http:\/\//);
    await shows(page, "#left-out", /1 key listed and allowed, removed: good\.example/);
    const { name, bytes } = await downloaded(page, "#download");
    assert.equal(name, "list.bloom");
    const filter = decode(bytes);
    for (const host of ["bad", "worse", "worst"])
      assert.equal(filter.matchUrl(`https://www.${host}.example/x`), `${host}.example/`);
    assert.equal(filter.hasUrl("https://good.example/"), false);
    assert.equal(filter.info().name, "my list");
    await shows(page, "#command", /--profile url --fpr 0\.001 --allow allow\.txt --allow-wins --name 'my list'$/);
  });

  test("reads gzipped passwords, and ignores case if told to", async () => {
    await fresh();
    await upload("passwords.txt.gz", gzipSync("Hunter2\n# not a comment\n"));
    await page.locator("#form").getByText("Passwords", { exact: true }).click();
    assert.equal(await page.locator("#fpr").inputValue(), "0.0001");
    await page.getByText("Ignore the case").click();
    await press();
    await built();
    const { name, bytes } = await downloaded(page, "#download");
    assert.equal(name, "passwords.bloom");
    assert.equal(decode(bytes).hasPassword("hUNTER2"), true);
    assert.equal(decode(bytes).hasPassword("# NOT A COMMENT"), true);
  });

  test("a result keeps the names of its sources", async () => {
    await fresh();
    await page.getByText("Keys that must never match").click();
    await page.setInputFiles("#allow-file", { name: "good.txt", mimeType: "", buffer: Buffer.from("c\n") });
    await drop(page, "#drop", "one.txt", "a\nb\n");
    // A file dropped during a build isn't accepted.
    await page.route("**/worker-*.js", async (route) => {
      await drop(page, "#drop", "late.txt", "c\n");
      await drop(page, "#allow", "late.txt", "d\n");
      await route.continue();
    });
    await press();
    await built();
    await shows(page, "#file-name", /^one\.txt/);
    await drop(page, "#drop", "two.txt", "c\n");
    assert.equal((await downloaded(page, "#download")).name, "one.bloom");
    const command = "npx bloom-wasm build one.txt -o one.bloom --fpr 0.001 --allow good.txt";
    assert.equal(await page.locator("#command").textContent(), command);
    await page.locator("#allow").fill("x");
    await page.locator("#allow").fill("");
    assert.equal(await page.locator("#allow").getAttribute("placeholder"), "");
    await page.locator("#fpr").fill("0.01");
    await press();
    await shows(page, "#command", "npx bloom-wasm build two.txt -o two.bloom --fpr 0.01");
  });

  test("shows a command that works, whatever the file names", { skip: windows }, async () => {
    await fresh();
    const names = ["-o", "--list.txt", "it's a list.txt", "$(list).txt", "~list"];
    for (const [at, list] of names.entries()) {
      const allow = names.at(at - 1);
      const name = ["-x", "--", "-", "a 'b'", "x"][at];
      await page.locator("#name").fill(name);
      await page.getByText("Keys that must never match").click();
      await page.setInputFiles("#allow-file", { name: allow, mimeType: "", buffer: Buffer.from("c\n") });
      await drop(page, "#drop", list, "a\nb\n");
      await press();
      await built();
      const command = await page.locator("#command").textContent();
      const work = mkdtempSync(join(temporary, "command-"));
      writeFileSync(join(work, list), "a\nb\n");
      writeFileSync(join(work, allow), "c\n");
      const tool = join(root, "target/release/bloom-wasm");
      execFileSync("sh", ["-c", command.replace(/^npx bloom-wasm/, '"$TOOL"')], {
        cwd: work,
        env: { ...process.env, TOOL: tool },
        stdio: ["ignore", "ignore", "inherit"],
      });
      const filter = decode(
        readFileSync(
          join(
            work,
            readdirSync(work).find((made) => made.endsWith(".bloom")),
          ),
        ),
      );
      assert.deepEqual([filter.has("a"), filter.has("c"), filter.info().name], [true, false, name]);
      await fresh();
    }
  });

  test("keeps the keyboard's focus", async () => {
    await fresh();
    await page.locator("#name").press("Enter");
    await shows(page, "#error", "Drop, choose or paste a list first.");
    await page.locator("#name:focus").waitFor();
    await upload("small.txt", "a\nb\n");
    await page.route("**/worker-*.js", () => {}); // it waits
    await page.locator("#name").press("Enter");
    await page.locator("#cancel:focus").press("Enter");
    await page.locator("#build:focus").press("Enter");
    await page.locator("#cancel:focus").waitFor();
    await page.unroute("**/worker-*.js"); // it continues
    await page.locator("#download:focus").waitFor();
  });

  test("stops in the middle of three million lines, and then builds a small list", async () => {
    await fresh();
    const many = await list("three-million.txt", 3_000_000, (at) => `id-${at}`);
    await page.setInputFiles("#file", many);
    await press();
    await page.locator("#progress[value]").waitFor();
    await page.locator("#cancel").click();
    await shows(page, "#error", "Cancelled. Nothing was built.");
    await gone(page, "#working");

    await upload("small.txt", "a\nb\n");
    await press();
    await shows(page, "#headline", /^2 keys in /);
  });

  test("says what is wrong", async () => {
    await fresh();
    const fails = async (message) => {
      await press();
      await shows(page, "#error", message);
      await gone(page, "#done");
    };
    await fails("Drop, choose or paste a list first.");
    await upload("empty.txt", "");
    await fails("“empty.txt” is empty.");
    await upload("blank.txt", "\n\n\r\n");
    await fails("No line of the list is a key.");
    const changed = await list("changed.txt", 10, String);
    await page.setInputFiles("#file", changed);
    appendFileSync(changed, "more");
    await fails("The list could not be read. Was it changed or moved?");
    await upload("good.txt", "a\nb\n");
    for (const rate of ["0", "1", "-0.1", "often", ""]) {
      await page.locator("#fpr").fill(rate);
      await fails("The false-positive rate must be a number above 0 and below 1, such as 0.001.");
      await shows(page, "#fpr-hint", "A number above 0 and below 1.");
    }
    await page.locator("#fpr").fill("0.001");
    await page.locator("#name").fill("n".repeat(256));
    await fails("Name must be at most 255 bytes of UTF-8.");
    await page.locator("#name").fill("");
    await press();
    await built();
    await gone(page, "#error");
  });

  test("says that the worker can't be fetched, and builds once it can", async () => {
    await fresh();
    await page.route("**/worker-*.js", (route) => route.abort());
    await upload("good.txt", "a\nb\n");
    await press();
    await shows(page, "#error", "The builder could not be loaded. Are you online?");
    await page.unroute("**/worker-*.js");
    await page.route("**/*.wasm", (route) => route.abort());
    await press();
    await shows(page, "#error", "The builder could not be loaded. Are you online?");
    await page.unroute("**/*.wasm");
    await press();
    await built();
  });
});
