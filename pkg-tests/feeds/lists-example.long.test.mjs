/**
 * examples/lists from beginning to end: its script fetches lists with the real curl from a host that sometimes fails,
 * and publishes them; a client then asks the feed as the example's README does.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { parse } from "yaml";
import { root } from "../../scripts/setup.mjs";
import { nativeTool } from "../helpers/built.mjs";
import { folder } from "../helpers/installed.mjs";
import { sha256 } from "../helpers/publisher.mjs";
import { createServer } from "../helpers/server.mjs";

const example = join(root, "examples/lists");
const home = join(folder, "lists example");
const at = (...path) => join(home, ...path);
const readme = readFileSync(join(example, "README.md"), "utf8");
/** The lines of a sample in README. */
const sample = (heading, language) =>
  new RegExp(`^## ${heading}\n[\\s\\S]*?^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "m").exec(readme)[1];

const names = ["phishing", "malware", "scam"];
const hosts = (name, count) => Array.from({ length: count }, (_, i) => `${i}.${name}.example`);
/** The lists' host: its files, and for each a fault or a normal answer. */
const lists = Object.fromEntries(names.map((name) => [name, hosts(name, 1000)]));
let faults = {};
let log = [];

const server = createServer((request, response) => {
  const [, name] = /^\/(?:moved\/)?(\w+)-nl\.txt$/.exec(request.url) ?? [];
  const fault = request.url.startsWith("/moved/") ? undefined : faults[name];
  const text = `# ${name}\n${lists[name]?.join("\n")}\n`;
  const etag = `"${sha256(text).slice(0, 16)}"`;
  const answer = (status, headers, bytes) => {
    log.push(`${name} ${status}`);
    response.writeHead(status, headers);
    if (fault === "short") response.write(bytes, () => request.socket.destroy());
    else response.end(bytes);
  };
  if (!lists[name] || fault === 404) answer(404, {}, "Not found");
  else if (fault === 503) answer(503, { "content-type": "text/html" }, "<html>Try again later</html>");
  else if (fault === "moved") answer(302, { location: `/moved/${name}-nl.txt`, etag: '"moved"' });
  else if (fault === "empty") answer(200, { etag: '"empty"' });
  else if (fault === 204) answer(204, {});
  else if (fault === "page") answer(200, { etag: '"page"' }, "<!doctype html><title>Log in</title>");
  else if (fault === "short") answer(200, { etag, "content-length": text.length }, text.slice(0, text.length / 2));
  else if (fault === "gzip") answer(200, { etag, "content-encoding": "gzip" }, gzipSync(text));
  else if (fault === "untold") answer(200, {}, text);
  else if (request.headers["if-none-match"] === etag) answer(304, { etag });
  else answer(200, { etag }, text);
});

before(async () => {
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  cpSync(example, home, { recursive: true });
  const script = readFileSync(at("publish.sh"), "utf8");
  // The local host has no certificate.
  const local = [
    [/^lists=https:\/\/.*$/gm, `lists=http://127.0.0.1:${server.address().port}`],
    [/--proto-redir =https/g, "--proto-redir =http"],
  ];
  const changed = local.reduce((text, [from, to]) => {
    assert.equal(text.match(from).length, 1, from);
    return text.replace(from, to);
  }, script);
  writeFileSync(at("publish.sh"), changed);
  mkdirSync(at("bin"));
  writeFileSync(at("bin/npx"), `#!/bin/sh\n[ "$1" = bloom-wasm ] && shift && exec "${nativeTool()}" "$@"\n`);
  chmodSync(at("bin/npx"), 0o755);
});
after(() => server.close());

/** Runs shell commands, by default from another folder. Rejects with `code` if they fail. */
const sh = (command, cwd = folder) =>
  promisify(execFile)("sh", ["-ec", command], {
    cwd,
    env: { ...process.env, PATH: `${at("bin")}:${process.env.PATH}` },
  });

/**
 * Runs the script as cron does. Returns what cron would send by mail, what was requested, and whether anything was
 * published.
 */
async function run(options = "") {
  log = [];
  const published = () => (existsSync(at("public/feed.json")) ? readFileSync(at("public/feed.json"), "utf8") : "");
  const last = published();
  const { stderr, code = 0 } = await sh(`sh "${at("publish.sh")}" ${options} > /dev/null`).catch((error) => error);
  const left = readdirSync(home).filter((name) => /\.txt\.new$/.test(name));
  return { mail: stderr, code, asked: log.sort().join(), published: published() !== last, left };
}

const UNCHANGED = "malware 304,phishing 304,scam 304";
const quiet = { mail: "", code: 0, left: [] };

test("from keygen to a client's answer, while the lists' host fails in every way", async (context) => {
  writeFileSync(at("allow.txt"), "# ours\nours.example\n");
  lists.malware.push("ours.example", "0.phishing.example");
  const [install, keygen, first] = sample("Begin", "sh").trim().split("\n");
  assert.equal(install, "npm install bloom-wasm");
  const { stdout } = await sh(keygen, home);
  const [publicKey] = /[\w-]{43}/.exec(stdout);

  // Before the feed begins, the script says what is missing, and the first run is that of README.
  const none = await run();
  assert.match(none.mail, /there is no state of a feed here/);
  assert.deepEqual([none.code, none.published], [2, false]);
  await sh(first, home);

  const url = pathToFileURL(at("public/feed.json"));
  const asking = sample("Ask it", "js")
    .replace('"https://lists.example/feed.json"', JSON.stringify(url.href))
    .replace(/"[\w-]{43}"/, JSON.stringify(publicKey))
    .replace(/^feed\.watch.*$/m, "export { feed };");
  writeFileSync(at("asking.mjs"), asking);
  // Beside the installed package.
  cpSync(at("asking.mjs"), join(folder, "asking.mjs"));
  const { feed, isListed, why } = await import(pathToFileURL(join(folder, "asking.mjs")).href);
  context.after(() => feed.close());
  assert.equal(feed.info().name, "Dangerous pages");
  assert.deepEqual(
    feed.filter.info().tags.map(({ name }) => name),
    names,
  );
  /** Follows the feed. Returns its answer for each host. */
  const says = async (...asked) => {
    await feed.update();
    return asked.map((host) => isListed(`https://www.${host}/login`) && why(`https://www.${host}/login`).join("+"));
  };
  const both = ["1.scam.example", "0.phishing.example", "ours.example", "harmless.example"];
  assert.deepEqual(await says(...both), ["scam", "phishing+malware", false, false]);
  assert.equal(feed.generation, 1);

  // Nothing is new: no list is sent, nothing is published, and cron sends no mail.
  const same = await run();
  assert.equal(same.mail, "");
  assert.deepEqual([same.code, same.asked, same.published], [0, UNCHANGED, false]);
  lists.malware.splice(lists.malware.indexOf("ours.example"), 1);
  // That list was left out, so the feed is the same without it.
  assert.deepEqual(await run(), { ...quiet, asked: "malware 200,phishing 304,scam 304", published: false });

  // One list fails and stays as it was; the others are published. A partial list is never used.
  let generation = feed.generation;
  for (const fault of [503, "short", 404, "empty", 204]) {
    const [newest, missed] = [`new-${fault}.phishing.example`, `missed-${fault}.scam.example`];
    lists.phishing.push(newest);
    lists.scam.push(missed);
    faults = { scam: fault };
    const { mail, code, asked, published } = await run();
    const words = /^(curl: .*\n)?scam\.txt can't be fetched, so the last one stays\n$/;
    assert.match(mail, words);
    assert.equal(words.exec(mail)[1] === undefined, fault === "empty" || fault === 204, mail);
    const status = typeof fault === "number" ? fault : 200;
    assert.deepEqual([code, asked, published], [0, `malware 304,phishing 200,scam ${status}`, true]);
    assert.deepEqual(await says(newest, missed, "999.scam.example"), ["phishing", false, "scam"], String(fault));
    // The list that was missed comes with the next run.
    faults = {};
    const next = await run();
    assert.deepEqual(next, { ...quiet, asked: "malware 304,phishing 304,scam 200", published: true });
    assert.deepEqual(await says(missed), ["scam"]);
    assert.ok(feed.generation >= generation + 2);
    generation = feed.generation;
  }

  // A list that moved, one that is gzipped, and one from a host without ETags.
  faults = { phishing: "moved", malware: "gzip", scam: "untold" };
  for (const name of names) lists[name].push(`later.${name}.example`);
  const moved = await run();
  assert.deepEqual(moved, {
    ...quiet,
    asked: "malware 200,phishing 200,phishing 302,scam 200",
    published: true,
  });
  assert.deepEqual(await says(...names.map((name) => `later.${name}.example`)), names);
  // All lists are sent again or not, and are the same.
  faults = { scam: "untold" };
  assert.deepEqual(await run(), { ...quiet, asked: "malware 304,phishing 304,scam 200", published: false });

  // A web page instead of a list, and a list that lost half of its hosts: nothing is published, and clients keep
  // theirs.
  faults = { malware: "page" };
  const page = await run();
  assert.match(page.mail, /malware\.txt: .*HTML.*stays/);
  assert.deepEqual([page.code, page.published], [2, false]);
  faults = {};
  lists.malware.length = 500;
  const shrunken = await run();
  assert.match(shrunken.mail, /--max-removed/);
  assert.deepEqual([shrunken.code, shrunken.published], [2, false]);
  assert.deepEqual(await says("700.malware.example"), ["malware"]);
  // README says how to publish it anyway.
  assert.ok(readme.includes("`sh publish.sh --max-removed 100%`"));
  assert.deepEqual(await run("--max-removed 100%"), { ...quiet, asked: UNCHANGED, published: true });
  assert.deepEqual(await says("700.malware.example", "400.malware.example"), [false, "malware"]);
});

test("a list whose file is gone is fetched again, although its ETag is there", async () => {
  await sh("rm scam.txt", home);
  assert.deepEqual(await run(), { ...quiet, asked: "malware 304,phishing 304,scam 200", published: false });
});

test("half a list that a killed run left is not taken for one that hasn't changed", async () => {
  writeFileSync(at("phishing.txt.new"), "half.example\n");
  assert.deepEqual(await run(), { ...quiet, asked: UNCHANGED, published: false });
});

test("docs/feeds.md begins as README does; the crontab runs the script, and the workflow has its lists and tags", () => {
  const [, keygen, first] = sample("Begin", "sh").trim().split("\n");
  const [, commands] = /^```sh\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, "docs/feeds.md"), "utf8"));
  const [cron] = commands.trim().split("\n").slice(2);
  assert.equal(commands, `${keygen}\n${first}\n${cron}\n`);
  assert.match(cron, /^\(crontab -l; echo "23 \* \* \* \* cd '\$PWD' && sh publish\.sh > \/dev\/null"\) \| crontab -$/);
  const [, line] = /^```\n(.*)\n```$/m.exec(readme);
  assert.match(line, /^\d+ \* \* \* \* cd \/srv\/lists && sh publish\.sh > \/dev\/null$/);
  const script = readFileSync(join(example, "publish.sh"), "utf8");
  assert.ok(script.split("\n").length <= 31, "at most 30 lines");
  const [, address] = /^lists=(\S+)$/m.exec(script);
  const fetched = [...script.matchAll(/^fetch (\S+) "\$lists(\S+)"$/gm)].map(([, file, path]) => [
    file,
    address + path,
  ]);
  const tagged = [...script.matchAll(/--tag (\w+)=(\S+)/g)].map(([, tag, file]) => [tag, file]);
  const workflow = parse(readFileSync(join(example, "feed.yml"), "utf8"));
  const { with: given } = workflow.jobs.publish.steps.find(({ uses }) => /^[\w.-]+\/bloom-wasm@/.test(uses));
  assert.deepEqual(
    given.tags.trim().split("\n"),
    tagged.map(([tag, file]) => `${tag}=${fetched.find(([name]) => name === file)[1]}`),
  );
  assert.equal(given.options, "--allow=lists/allow.txt\n--allow-wins\n");
  // Nothing else is served, and no secret is in the served folder.
  assert.ok(!/public\/?\S*(key|state)/.test(script));
});
