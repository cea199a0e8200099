/** The native command line tool and the package: the same keys and options give the same bytes. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { nativeTool } from "../helpers/built.mjs";
import { folder, installed } from "../helpers/installed.mjs";

const { BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter, decode } = await installed();
const tool = nativeTool();

function build(keys, ...options) {
  return buildKind("bloom", keys, ...options);
}

function buildKind(kind, keys, ...options) {
  const [list, blob] = [join(folder, "list.txt"), join(folder, "cli.bloom")];
  writeFileSync(list, keys.join("\n"));
  execFileSync(tool, ["build", list, "-o", blob, "--kind", kind, "--allow-empty", ...options]);
  return readFileSync(blob);
}

const keys = (count) => Array.from({ length: count }, (_, i) => `ключ-${i * 7919}.example`);

test("equal bytes from both", () => {
  for (const count of [1, 2, 3, 10, 999, 12_345, 200_000]) {
    for (const fpr of [0.9, 0.5, 0.3, 0.2, 0.1, 0.037, 0.01, 1e-3, 1e-6]) {
      if (count > 100_000 && fpr !== 1e-3) continue;
      assert.deepEqual(
        Buffer.from(BloomFilter.from(keys(count), { fpr }).toBytes()),
        build(keys(count), "--fpr", `${fpr}`),
        `${count} keys at ${fpr}`,
      );
    }
  }
  const options = ["--seed", "18446744073709551615", "--name", "größer", "--created-at", "2026-11-21T09:00:00.250Z"];
  const same = { seed: 2n ** 64n - 1n, name: "größer", createdAt: new Date("2026-11-21T09:00:00.250Z") };
  assert.deepEqual(Buffer.from(BloomFilter.from(keys(50), same).toBytes()), build(keys(50), ...options));
});

test("both describe a blob in the same fields", () => {
  const bytes = build(keys(100), "--name", "n");
  const json = JSON.parse(execFileSync(tool, ["info", join(folder, "cli.bloom"), "--json"], { encoding: "utf8" }));
  assert.deepEqual(json, decode(bytes).info());
});

test("a ribbon blob of the tool gives the same answers in the package", () => {
  for (const count of [0, 1, 50, 1000, 30_000]) {
    for (const fpr of [0.7, 0.01, 1e-3, 1e-6]) {
      const bytes = buildKind("ribbon", keys(count), "--fpr", `${fpr}`);
      const filter = decode(bytes);
      assert.ok(filter instanceof RibbonFilter && filter.kind === "ribbon");
      assert.ok(filter.hasAll(keys(count)), `${count} keys at ${fpr}: a false negative`);
      assert.deepEqual(Buffer.from(filter.toBytes()), bytes);
      const info = JSON.parse(execFileSync(tool, ["info", join(folder, "cli.bloom"), "--json"], { encoding: "utf8" }));
      assert.deepEqual(info, filter.info());
      const nonmembers = Array.from({ length: 5000 }, (_, i) => `stranger-${i}`);
      const { stdout } = spawnSync(tool, ["check", join(folder, "cli.bloom")], {
        input: nonmembers.join("\n"),
        encoding: "utf8",
      });
      assert.deepEqual(
        nonmembers.filter((key) => filter.has(key)),
        stdout.split("\n").filter(Boolean),
        `${count} keys at ${fpr}`,
      );
      filter.free();
    }
  }
});

test("both build the same bytes of every kind", () => {
  const classes = {
    counting: CountingBloomFilter,
    scalable: ScalableBloomFilter,
    cuckoo: CuckooFilter,
    ribbon: RibbonFilter,
  };
  for (const [kind, made] of Object.entries(classes)) {
    for (const count of [0, 1, 50, 1000, 30_000]) {
      for (const fpr of [0.7, 0.01, 1e-3, 1e-6]) {
        const bytes = buildKind(kind, keys(count), "--fpr", `${fpr}`);
        const filter = made.from(keys(count), { fpr });
        assert.deepEqual(Buffer.from(filter.toBytes()), bytes, `${kind}: ${count} keys at ${fpr}`);
        const info = JSON.parse(
          execFileSync(tool, ["info", join(folder, "cli.bloom"), "--json"], { encoding: "utf8" }),
        );
        assert.deepEqual(info, decode(bytes).info());
        filter.free();
      }
    }
  }
});

/** Lines that are hard to parse, by themselves and in a list: both parsers must agree. */
const oddUrls = [
  "http://drive.example/y:/../z",
  "drive2.example/a/y|/../z",
  "https://B\u00fccher.example/\u00fc?\u00fc#\u00fc",
  "http://ama\u00adzon.example/",
  "\uff45\uff56\uff49\uff4c.example",
  "http://\u2603.example/\u2603",
  "http://xn--bcher-kva.example",
  "http://xn--a.example/", // invalid Punycode
  "http://stra\u00dfe.example/",
  "http://\u05d0.\u05d1.example/",
  "http://\u200d.example/",
  "http://0x7f.1/",
  "0300.0250.01.1/a",
  "http://3279880203/",
  "http://0xffffffffff/",
  "http://1.2.3.08/",
  "http://256.1.1.1/",
  "1.2.3",
  "http://[::ffff:1.2.3.4]/",
  "http://[64:ff9b::a00:1]:8080/",
  "http://[1::2%25lo]/",
  "http://user:pass@evil1.example:8080/",
  "http://good.example%2F@evil2.example/",
  "http://a@b@evil3.example/",
  "evil4.example:443/x",
  "http://evil5.example:99999/",
  "http://evil6.example\\@good.example/",
  "https:///evil7.example/x",
  "//evil8.example/x",
  "http:evil9.example",
  "HTTP://EVIL10.example:80/%2e%2e/a",
  "http://evil11.example./..//./a//b/",
  "http://evil12.example/%25%32%35%2525%%2",
  "http://evil13.example/a%2Fb%3Fc%23d#e",
  "http://evil14.example/?",
  "http://evil15.example/a?b?c//../d",
  "  http://evil16.example/ a b  ",
  "ht\ttp://ev\til17.example/",
  "http://%65vil18.example/",
  "http://%20space.example/",
  "http%3A%2F%2Fevil19.example%2F",
  "http://evil20.example/\u0000\u001b",
  "http://a.b.c.d.e.f.g.evil21.example/1/2/3/4/5/6/7?8",
  "ftp://evil22.example/x",
  "wss://evil23.example",
  "mailto:a@b.example",
  "javascript:alert(1)",
  "localhost:80",
  "evil24.example/*",
  "||evil25.example^",
  "||evil26.example^$script",
  "0.0.0.0 evil27.example evil28.example # comment",
  "::1 localhost",
  "http://evil29.example/\ud83d\ude00",
  `http://evil30.example/${"a/".repeat(50_000)}?${"b%2541".repeat(1000)}`,
  `http://${"a.".repeat(50_000)}evil31.example/`,
  `http://evil32.example/${"%25".repeat(30_000)}`,
  "co.uk",
  "com",
  "*.zip",
  "||mov^",
  "0.0.0.0 tk",
  "0.0.0.0 44.221.255.38",
  "http://b\u05d0.b/",
  "http://\u0661.shop/",
  "http://xn--a\uff0541xn--.com/",
  "http://xn--.a.evil33.example\\b@c.d/",
  "http://\uff58n--aaxn--.com\\a",
  "http://fa\u1e9e.example/",
  "http://fa\u1e9e\u05d0.example/",
  "http://\xe9\u0323.example/",
];

test("both make the same keys from any line", () => {
  const blob = join(folder, "url.bloom");
  const list = join(folder, "urls.txt");
  // The tool refuses a list that gives no key at all.
  for (const lines of [...oddUrls.map((url) => [url, "key.example"]), oddUrls]) {
    writeFileSync(list, lines.join("\n"));
    execFileSync(tool, ["build", list, "-o", blob, "--profile", "url", "--allow-suffixes"], {
      stdio: "ignore",
    });
    const filter = RibbonFilter.from(lines, { profile: "url", onSkip() {} });
    assert.deepEqual(Buffer.from(filter.toBytes()), readFileSync(blob), lines[0].slice(0, 100));
  }
  // The same when asked: the tool prints what is maybe present.
  const asked = oddUrls.filter((url) => !/[\t\n]/.test(url));
  const { stdout } = spawnSync(tool, ["check", blob], {
    input: asked.join("\n"),
    encoding: "utf8",
    maxBuffer: 1 << 24,
  });
  const filter = decode(readFileSync(blob));
  assert.deepEqual(
    stdout.split("\n").slice(0, -1),
    asked.filter((url) => filter.hasUrl(url)),
  );

  const odd = [
    "http://m\xfcnchen.example/\xfc",
    "evil.example/\xff%ff",
    "1.2.3.4\xff evil2.example",
    "1.2.3.4\xa0:x",
    "0.0.0.0 1.2.3.4\xe9",
    "0.0.0.0 evil3.example\xe9",
  ];
  const latin1 = Buffer.from(odd.join("\n"), "latin1");
  writeFileSync(list, latin1);
  execFileSync(tool, ["build", list, "-o", blob, "--profile", "url"], { stdio: "ignore" });
  const lines = latin1
    .toString("latin1")
    .split("\n")
    .map((line) => new Uint8Array(Buffer.from(line, "latin1")));
  assert.deepEqual(Buffer.from(RibbonFilter.from(lines, { profile: "url" }).toBytes()), readFileSync(blob));
});

test("both build the same bytes from real lists, with an allowlist and of passwords", () => {
  const { blacklist, whitelist } = createRequire(import.meta.url)("eth-phishing-detect/src/config.json");
  const [bad, good, blob] = ["bad.txt", "good.txt", "real.bloom"].map((name) => join(folder, name));
  writeFileSync(bad, blacklist.join("\n"));
  writeFileSync(good, whitelist.join("\n"));
  for (const allowWins of [false, true]) {
    const options = [
      "--profile",
      "url",
      "--fpr",
      "0.3",
      "--allow-suffixes",
      "--allow",
      good,
      ...(allowWins ? ["--allow-wins"] : []),
    ];
    execFileSync(tool, ["build", bad, "-o", blob, ...options], { stdio: "ignore" });
    const filter = RibbonFilter.from(blacklist, { profile: "url", fpr: 0.3, allow: whitelist, allowWins });
    assert.deepEqual(Buffer.from(filter.toBytes()), readFileSync(blob));
    const info = JSON.parse(execFileSync(tool, ["info", blob, "--json"], { encoding: "utf8" }));
    assert.deepEqual(info, filter.info());
    // For the second group of the list, and the allowlist.
    assert.equal(info.layers, 2);
  }

  const passwords = [
    "Passw\u00f6rd",
    "Passwo\u0308rd",
    "\u0130stanbul",
    "STRASSE\u00df",
    "\u03a3\u039f\u03a6\u039f\u03a3",
    "#1",
    " a ",
    "\ufb01",
    "\u1e9b\u0323",
    "\u212b",
  ];
  writeFileSync(bad, passwords.join("\n"));
  for (const lowercase of [false, true]) {
    execFileSync(tool, ["build", bad, "-o", blob, "--profile", "password", ...(lowercase ? ["--lowercase"] : [])], {
      stdio: "ignore",
    });
    assert.deepEqual(
      Buffer.from(RibbonFilter.from(passwords, { profile: "password", lowercase }).toBytes()),
      readFileSync(blob),
    );
  }
  const hashes = passwords.map((password, i) => `${createHash("sha1").update(password).digest("hex")}:${i}`);
  writeFileSync(bad, hashes.join("\r\n"));
  execFileSync(tool, ["build", bad, "-o", blob, "--profile", "password", "--sha1", "--min-count", "3"], {
    stdio: "ignore",
  });
  const hashed = RibbonFilter.from(hashes, { profile: "password", sha1: true, minCount: 3 });
  assert.deepEqual(Buffer.from(hashed.toBytes()), readFileSync(blob));
});
