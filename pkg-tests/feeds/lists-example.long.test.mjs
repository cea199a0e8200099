/**
 * examples/lists from beginning to end: its script fetches lists with the real curl from a host that sometimes fails,
 * and publishes them; a client then asks the feed as the example's README does.
 */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
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

const skip = spawnSync("rsync", ["--version"]).error && "there is no rsync";

const names = ["phishing", "malware", "scam"];
const hosts = (name, count) => Array.from({ length: count }, (_, i) => `${i}.${name}.example`);
/** The lists' host: its files, and for each a fault or a normal answer. */
const lists = Object.fromEntries(names.map((name) => [name, hosts(name, 1000)]));
let faults = {};
/** Where a list is only at its mirror. */
let gone = [];
let log = [];

const server = createServer((request, response) => {
  const [, place, name] = /^\/(?:(moved|mirror)\/)?(\w+)-nl\.txt$/.exec(request.url) ?? [];
  const fault = place === "moved" ? undefined : !place && gone.includes(name) ? 404 : faults[name];
  const text = `# ${name}\n${lists[name]?.join("\n")}\n`;
  const etag = `"${sha256(text).slice(0, 16)}"`;
  const answer = (status, headers, bytes) => {
    log.push(`${place === "mirror" ? "mirror of " : ""}${name} ${status}`);
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
    [/^mirror=https:\/\/.*$/gm, `mirror=http://127.0.0.1:${server.address().port}/mirror`],
    // It would wait between them.
    [/--retry 3 /g, "--retry 0 "],
    [/--proto-redir =https/g, "--proto-redir =http"],
  ];
  const changed = local.reduce((text, [from, to]) => {
    assert.equal(text.match(from).length, 1, from);
    return text.replace(from, to);
  }, script);
  writeFileSync(at("publish.sh"), changed);
  // The lists are shorter here.
  const feed = readFileSync(at("feed.toml"), "utf8");
  assert.equal(feed.match(/min-keys = [\d_]+/g).length, names.length);
  writeFileSync(at("feed.toml"), feed.replace(/min-keys = [\d_]+/g, "min-keys = 400"));
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
 * Runs the script as cron does. Returns what cron would send by mail, what was requested, whether anything was
 * published, and which files it left.
 */
async function run(options = "") {
  log = [];
  const published = () => (existsSync(at("public/feed.json")) ? readFileSync(at("public/feed.json"), "utf8") : "");
  const last = published();
  const ran = await sh(`sh "${at("publish.sh")}" --quiet ${options}`).catch((error) => error);
  const { stdout, stderr, code = 0 } = ran;
  const left = readdirSync(home).filter((name) => /\.new$/.test(name));
  return { mail: stdout + stderr, code, asked: log.sort().join(), published: published() !== last, left };
}

const UNCHANGED = "malware 304,phishing 304,scam 304";
const quiet = { mail: "", code: 0, left: [] };

test("from feed init to a client's answer, while the lists' host fails in every way", async (context) => {
  writeFileSync(at("allow.txt"), "# ours\nours.example\n");
  lists.malware.push("ours.example", "0.phishing.example");
  const [install, init, first] = sample("Begin", "sh").trim().split("\n");
  assert.equal(install, "npm install bloom-wasm");
  // Before the feed begins, the script says what is missing.
  const none = await run();
  assert.match(none.mail, /`id` is missing: `bloom-wasm feed init` adds one/);
  assert.deepEqual([none.code, none.published], [2, false]);
  const { stdout } = await sh(init, home);
  const [publicKey] = /[\w-]{43}/.exec(stdout);
  // Without --quiet, it says what it did.
  assert.match((await sh(first, home)).stdout, /wrote +generation/);

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
    names.toSorted(),
  );
  /** Follows the feed. Returns its answer for each host. */
  const says = async (...asked) => {
    await feed.update();
    return asked.map((host) => isListed(`https://www.${host}/login`) && why(`https://www.${host}/login`).join("+"));
  };
  const both = ["1.scam.example", "0.phishing.example", "ours.example", "harmless.example"];
  assert.deepEqual(await says(...both), ["scam", "malware+phishing", false, false]);
  let { generation } = feed;

  // Nothing is new: no list is sent, nothing is published, and cron sends no mail.
  const same = await run();
  assert.equal(same.mail, "");
  assert.deepEqual([same.code, same.asked, same.published], [0, UNCHANGED, false]);
  lists.malware.splice(lists.malware.indexOf("ours.example"), 1);
  // That list was left out, so the feed is the same without it.
  assert.deepEqual(await run(), { ...quiet, asked: "malware 200,phishing 304,scam 304", published: false });

  // One list fails and stays as it was; the others are published. A partial list is never used.
  for (const fault of [503, "short", 404, "empty", 204]) {
    const [newest, missed] = [`new-${fault}.phishing.example`, `missed-${fault}.scam.example`];
    lists.phishing.push(newest);
    lists.scam.push(missed);
    faults = { scam: fault };
    const { mail, code, asked, published, left } = await run();
    const words = /^(curl: .*\n)?scam\.txt can't be fetched from http:\/\/\S+-nl\.txt(: it is empty)?$/;
    const told = mail.trim().split(/(?<=-nl\.txt(?:: it is empty)?)\n/);
    assert.equal(told.length, 2, "the list and its mirror");
    for (const part of told) {
      assert.match(part, words);
      const [, byCurl, isEmpty] = words.exec(part);
      assert.deepEqual([!byCurl, Boolean(isEmpty)], Array(2).fill(fault === "empty" || fault === 204), mail);
    }
    const status = typeof fault === "number" ? fault : 200;
    const requests = `malware 304,mirror of scam ${status},phishing 200,scam ${status}`;
    assert.deepEqual([code, asked, published, left], [0, requests, true, []]);
    assert.deepEqual(await says(newest, missed, "999.scam.example"), ["phishing", false, "scam"], String(fault));
    // The list that was missed comes with the next run.
    faults = {};
    const next = await run();
    assert.deepEqual(next, { ...quiet, asked: "malware 304,phishing 304,scam 200", published: true });
    assert.deepEqual(await says(missed), ["scam"]);
    assert.ok(feed.generation >= generation + 2);
    ({ generation } = feed);
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
  assert.match(page.mail, /malware\.txt: .*HTML.*; generation \d+ stays until \d{4}-/);
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

  // A state that is lost needs no person, but it isn't known then what a list had.
  await sh("rm -r state", home);
  lists.malware.push("lost.malware.example");
  assert.deepEqual(await run(), { ...quiet, asked: "malware 200,phishing 304,scam 304", published: true });
  assert.deepEqual(await says("lost.malware.example"), ["malware"]);
});

test("a mirror has a list that vanished, and the ETag of one isn't sent to the other", async () => {
  await run();
  gone = ["scam"];
  const vanished = await run();
  assert.match(vanished.mail, /^curl: .*404\nscam\.txt can't be fetched from http:\S+\/scam-nl\.txt\n$/);
  const asked = "malware 304,mirror of scam 200,phishing 304,scam 404";
  assert.deepEqual(vanished, { ...quiet, mail: vanished.mail, asked, published: false });
  lists.scam.push("mirrored.scam.example");
  assert.equal((await run()).published, true);
  gone = [];
  assert.deepEqual(await run(), { ...quiet, asked: "malware 304,phishing 304,scam 200", published: false });
  assert.deepEqual(await run(), { ...quiet, asked: UNCHANGED, published: false });
});

test("a list whose file is gone is fetched again, and half a list that a killed run left isn't taken", async () => {
  await sh("rm scam.txt", home);
  writeFileSync(at("phishing.txt.new"), "half.example\n");
  writeFileSync(at("phishing.txt.etag.new"), '"half"\n');
  assert.deepEqual(await run(), { ...quiet, asked: "malware 304,phishing 304,scam 200", published: false });
});

test("a list is the response of one URL, whatever is in it", async () => {
  const [fetch] = /^fetch\(\) \{[\s\S]*?^\}$/m.exec(readFileSync(at("publish.sh"), "utf8"));
  for (const path of ["/{phishing,scam}-nl.txt", "/part[1-3].txt"]) {
    log = [];
    const url = `http://127.0.0.1:${server.address().port}${path}`;
    await sh(`cd "${home}"; ${fetch}\nfetch one.txt "${url}"`).catch(() => {});
    assert.deepEqual(log, ["undefined 404"]);
  }
});

test("the workflow has the script's lists", () => {
  const script = readFileSync(join(example, "publish.sh"), "utf8");
  const places = Object.fromEntries(
    [...script.matchAll(/^(lists|mirror)=(\S+)$/gm)].map(([, name, url]) => [`$${name}`, url]),
  );
  const fetched = [...script.matchAll(/^fetch (\S+) "(\S+)" "(\S+)"$/gm)].map(([, file, ...urls]) =>
    [file, ...urls.map((url) => url.replace(/^\$\w+/, (name) => places[name]))].join(" "),
  );
  assert.equal(fetched.length, 3);
  const workflow = parse(readFileSync(join(example, "feed.yml"), "utf8"));
  const { with: given } = workflow.jobs.publish.steps.find(({ uses }) => /^[\w.-]+\/bloom-wasm@/.test(uses));
  assert.deepEqual(given.fetch.trim().split("\n"), fetched);
});

test("rsync, as README says: feed.json comes last, and files that nobody needs are deleted", { skip }, async () => {
  const [commands] = sample("Serve it", "sh").match(/^rsync[\s\S]*/m);
  const www = join(home, "www");
  mkdirSync(www);
  const local = commands.replaceAll("you@lists.example:/srv/www/lists/", `"${www}/"`);
  assert.ok(!local.includes("lists.example"));
  const served = () => readdirSync(www).sort();
  await sh(local, home);
  assert.deepEqual(served(), readdirSync(at("public")).sort());
  // A file that is gone.
  const [old] = served().filter((name) => name !== "feed.json");
  writeFileSync(join(www, "0".repeat(64)), "");
  const first = local.split(/ &&\n/)[0];
  writeFileSync(join(www, "feed.json"), "the last one");
  await sh(`rm "${join(www, old)}"; ${first}`, home);
  assert.equal(readFileSync(join(www, "feed.json"), "utf8"), "the last one");
  assert.ok(served().includes("0".repeat(64)) && served().includes(old), "new files first, and nothing is deleted yet");
  await sh(local, home);
  assert.deepEqual(served(), readdirSync(at("public")).sort());
  assert.deepEqual(readFileSync(join(www, "feed.json")), readFileSync(at("public/feed.json")));
});
