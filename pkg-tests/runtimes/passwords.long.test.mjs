/**
 * docs/refuse-passwords.md: the check of the page in Chromium, and that of the server in the real Express, with the blob
 * and with the shards.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import * as vite from "vite";
import * as setup from "../../scripts/setup.mjs";
import { newPage, noChromium, PATIENCE, playwright } from "../helpers/browsers.mjs";
import { folder } from "../helpers/installed.mjs";
import { page, shell } from "../interop/docs.mjs";
import { skipped, tried } from "./table.mjs";

const EXPRESS = "5.3.0";
const modules = setup.installed("recipes", [`express@${EXPRESS}`]);

const { code } = page("refuse-passwords.md");
let browser;

const LISTED = "correct horse battery staple";
const [FOUR, FOUR_ACCENTED] = ["\u{1f525}".repeat(4), "e\u0301".repeat(4)];
const UNLISTED = "violet tractor humming";
const lists = { blob: "passwords.bloom", shards: "public/shards.json" };
const texts = { blob: /too common/, shards: /has leaked/ };

/** `refusal.js` with each list: the page has the lines that differ. */
function refusals() {
  const [blob] = code["On the server"].js;
  const changed = code["All leaked passwords"].js[0].trimEnd().split("\n");
  assert.equal(changed.length, 2);
  const lines = blob.split("\n");
  for (const line of changed) {
    const [begin] = line.split(/(?<=await|return) /);
    const at = lines.findIndex((other) => other.trim().startsWith(begin));
    assert.ok(at >= 0, line);
    lines[at] = line;
  }
  const url = '"https://pwned.example/shards.json"';
  const shards = lines.join("\n").replace(url, 'new URL("public/shards.json", import.meta.url)');
  assert.ok(shards.includes("import.meta.url"));
  return { blob, shards: shards.replaceAll("{ load }", "{ openSharded }") };
}

/** A folder with the recipe, the list, and what the recipe imports. */
function app(list, publicKey, change = (source) => source) {
  const cwd = join(folder, `passwords-${list}-${apps++}`);
  mkdirSync(cwd);
  symlinkSync(modules, join(cwd, "node_modules"));
  for (const name of ["public", "passwords.bloom"]) symlinkSync(join(folder, name), join(cwd, name));
  writeFileSync(join(cwd, "package.json"), '{ "type": "module" }');
  const source = refusals()[list].replace("publicKey", `publicKey: ${JSON.stringify(publicKey)}`);
  writeFileSync(join(cwd, "refusal.js"), change(source));
  writeFileSync(join(cwd, "recipe.js"), code["On the server"].js[1]);
  return cwd;
}
let apps = 0;

/** Starts the recipe. */
async function start(cwd) {
  const { app } = await import(pathToFileURL(join(cwd, "recipe.js")));
  app.set("env", "test"); // prints no errors
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}/sign-up`;
  const headers = { "content-type": "application/json" };
  return {
    async signUp(password) {
      const body = JSON.stringify({ email: "a@b.example", password });
      const response = await fetch(url, { method: "POST", headers, body });
      return [response.status, await response.text()];
    },
    stop: () => (server.closeAllConnections(), server.close()),
  };
}

describe("sign-up", { timeout: 4 * PATIENCE }, () => {
  let publicKey;
  before(() => {
    const hash = (password) => createHash("sha1").update(password).digest("hex").toUpperCase();
    writeFileSync(join(folder, "pwned.txt"), `${hash(LISTED)}:9\n${hash("123456")}:3\n`);
    writeFileSync(join(folder, "common.txt"), `${LISTED}\n123456\n${FOUR}\n${FOUR_ACCENTED}\n`);
    shell(code["The list"].sh[0], folder);
    writeFileSync(join(folder, "feed.toml"), code["All leaked passwords"].toml[0]);
    [publicKey] = /[\w-]{43}/.exec(shell(code["All leaked passwords"].sh[0], folder));
  });
  after(() => browser?.close());

  const skip = !modules && skipped("Express", setup.NOT_INSTALLED);
  for (const list of Object.keys(lists)) {
    test(`Express, with the ${list}`, { skip }, async () => {
      const { signUp, stop } = await start(app(list, publicKey));
      try {
        // The blob ignores case.
        for (const listed of list === "blob" ? [LISTED, LISTED.toUpperCase()] : [LISTED]) {
          const [status, text] = await signUp(listed);
          assert.equal(status, 422);
          assert.match(text, texts[list]);
        }
        // Eight units of UTF-16 in two of them, and in the list, which leaves them out.
        for (const odd of ["short", FOUR, FOUR_ACCENTED, undefined]) assert.equal((await signUp(odd))[0], 422);
        assert.equal((await signUp(UNLISTED))[0], 201);
      } finally {
        stop();
      }
      // Without the list nobody can sign up, and the next sign-up tries again.
      const cwd = app(list, publicKey, (source) => source.replace(lists[list], `missing/${lists[list]}`));
      const without = await start(cwd);
      try {
        assert.equal((await without.signUp(UNLISTED))[0], 500);
        symlinkSync(folder, join(cwd, "missing"));
        assert.equal((await without.signUp(UNLISTED))[0], 201, "the next one");
      } finally {
        without.stop();
      }
      tried(`sign-up: Express, ${list}`, EXPRESS, "refuses what is listed, takes what isn't");
    });
  }

  test("the page", { skip: noChromium && skipped("the page", noChromium) }, async (context) => {
    const cwd = join(folder, "field");
    mkdirSync(cwd);
    symlinkSync(join(folder, "passwords.bloom"), join(cwd, "passwords.bloom"));
    const [field, ...more] = code["In the page"].js;
    assert.deepEqual(more, []);
    writeFileSync(join(cwd, "main.js"), field);
    writeFileSync(
      join(cwd, "index.html"),
      `<!doctype html><form method="post" action="/welcome"><label>Password
      <input name="password" type="password" required></label></form><script type="module" src="main.js"></script>`,
    );
    // Vite would inline a list as small as this one.
    const build = { assetsInlineLimit: 0 };
    const options = { root: cwd, configFile: false, logLevel: "error", build };
    await vite.build(options);
    const server = await vite.preview({ ...options, preview: { port: 0, host: "127.0.0.1" } });
    context.after(() => server.close());
    browser ??= await playwright();

    const errors = [];
    const BLOB = "**/assets/passwords-*.bloom";
    const notFound = (route) => route.fulfill({ status: 404 });
    /** A new page with the form, and the requests for the list so far. */
    async function open(answer, options) {
      const tab = await newPage(browser);
      context.after(() => tab.close());
      const asked = [];
      tab.on("request", (request) => /bloom$/.test(request.url()) && asked.push(request.url()));
      tab.on("pageerror", (error) => errors.push(error));
      await tab.route("**/welcome", (route) => route.fulfill({ contentType: "text/html", body: "<h1>Welcome</h1>" }));
      if (answer) await tab.route(BLOB, answer, options);
      await tab.goto(server.resolvedUrls.local[0]);
      const password = tab.getByLabel("Password");
      const reason = () => password.evaluate((input) => input.validationMessage);
      const refused = (is) =>
        tab.waitForFunction((is) => document.querySelector("input").validity.customError === is, is);
      return { tab, asked, password, reason, refused };
    }

    {
      const { tab, asked, password, reason, refused } = await open();
      for (const listed of [LISTED, LISTED.toUpperCase()]) {
        await password.pressSequentially(listed);
        await refused(true);
        assert.match(await reason(), texts.blob);
        await password.press("Enter");
        await password.fill(UNLISTED);
        await refused(false);
        await password.fill("");
      }
      await password.fill(UNLISTED);
      await password.press("Enter");
      await tab.getByRole("heading", { name: "Welcome" }).waitFor();
      assert.equal(asked.length, 1, "one download");
    }
    {
      let arrive;
      const requested = new Promise((resolve) => (arrive = resolve));
      const { tab, asked, password, reason, refused } = await open(arrive, { times: 1 });
      const warned = tab.waitForEvent("console", (message) => message.type() === "warning");
      await password.fill(LISTED);
      await notFound(await requested); // not between the focus and the input, which would try again
      assert.match((await warned).text(), /passwords-.*\.bloom answered with status 404/);
      assert.equal(await reason(), "");
      await password.press("!");
      await password.press("Backspace");
      await refused(true);
      assert.equal(asked.length, 2, "tried again once");
    }
    assert.deepEqual(errors, []);
    tried("sign-up: a page", vite.version, "refuses what is listed, takes what isn't");
  });
});
