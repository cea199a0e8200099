/**
 * The example form in a real, headless Chromium, with the installed package and filters that arrive late or not at all.
 */
import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { root } from "../../scripts/setup.mjs";
import { newPage, PATIENCE, playwright, noChromium as skip } from "../helpers/browsers.mjs";
import { folder, installed } from "../helpers/installed.mjs";
import { shell } from "../interop/docs.mjs";

const { RibbonFilter } = await installed();
if (skip) console.log(`runtimes/signup.long.test.mjs skipped: ${skip}`);

const COMMON = "This password is on every attacker's list. Please choose another one.";
const STRONG = "violet tractor humming";

describe("the example form", { skip, timeout: 10 * PATIENCE }, () => {
  let server;
  let url;
  let browser;
  let page;
  let requests; // what the page has sent since it opened

  before(async () => {
    const example = join(root, "examples/signup");
    const work = join(folder, "signup");
    cpSync(example, work, { recursive: true, filter: (path) => !/node_modules/.test(path) });
    // The filter is made as the README says, by the native tool.
    const [, command] = /^npx (bloom-wasm build .*)/m.exec(readFileSync(join(example, "README.md"), "utf8"));
    shell(command.replace("node_modules", join(root, "node_modules")), work);

    const { serve } = await import(pathToFileURL(join(work, "serve.mjs")).href);
    server = await serve(0);
    url = `http://localhost:${server.address().port}/`;
    browser = await playwright();
  });

  after(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
  });

  /** Opens the form; `answer` handles the request for the filter, `prepare` the empty page. */
  async function open({ answer, prepare, ...options } = {}) {
    await page?.context().close();
    page = await newPage(await browser.newContext(options));
    if (answer) await page.route("**/passwords.bloom", answer);
    await prepare?.();
    await page.goto(url);
    requests = [];
    page.on("request", (request) =>
      requests.push([request.method(), new URL(request.url()).pathname, request.postData() ?? ""]),
    );
    await page.locator("#email").fill("a@b.example");
  }

  const password = () => page.locator("#password");
  const says = (id, text) =>
    page
      .locator(id)
      .filter({ hasText: new RegExp(`^${text.replace(/\./g, "\\.")}$`) })
      .waitFor({ state: "attached" });
  const reason = () => password().evaluate((input) => input.validationMessage);
  /** Waits until the page has a filter, which then refuses a password. */
  const ready = async (known) => {
    await password().fill(known);
    await page.waitForFunction(() => document.querySelector("#password").validity.customError);
  };
  const signsUp = async (text) => {
    await password().fill(text);
    await password().press("Enter");
    await page.getByRole("heading", { name: "Welcome!" }).waitFor();
  };
  const filterOf = (keys, options) => {
    const body = Buffer.from(RibbonFilter.from(keys, { profile: "password", fpr: 1e-8, ...options }).toBytes());
    return (route) => route.fulfill({ body });
  };

  test("refuses a common password and says why, takes a strong one, and sends nothing before", async () => {
    await open();
    await password().pressSequentially("password1");
    await says("#verdict", COMMON);
    assert.equal(await password().getAttribute("aria-invalid"), "true");
    await page.getByRole("button", { name: "Sign up" }).click();
    await page.locator("#password:focus").waitFor();
    assert.equal(await reason(), COMMON);
    await password().fill(STRONG);
    await says("#verdict", "");
    assert.deepEqual([await reason(), await password().getAttribute("aria-invalid")], ["", "false"]);
    await page.evaluate(() => fetch("style.css?last"));
    assert.deepEqual(requests, [["GET", "/style.css", ""]]);
    await signsUp(STRONG);
    const body = new URLSearchParams({ email: "a@b.example", password: STRONG }).toString();
    assert.deepEqual(
      requests.filter(([method]) => method === "POST"),
      [["POST", "/welcome", body]],
    );
  });

  for (const [name, answer] of [
    ["is missing", (route) => route.fulfill({ status: 404 })],
    ["can't be reached", (route) => route.abort()],
  ]) {
    test(`says so when the filter ${name}, and lets the user sign up`, async () => {
      await open({ answer });
      await says("#notice", "We can't check passwords right now. Please choose one that you use nowhere else.");
      await signsUp("password1");
    });
  }

  test("tries again when the typing pauses", async () => {
    const filter = filterOf(["password1"]);
    let requests = 0;
    await open({ answer: (route) => (requests++ === 0 ? route.abort() : filter(route)) });
    await says("#notice", "We can't check passwords right now. Please choose one that you use nowhere else.");
    await password().fill("password1");
    await says("#verdict", COMMON);
    await says("#notice", "");
    assert.equal(requests, 2);
  });

  test("doesn't wait for a slow filter, which judges what was typed meanwhile", async () => {
    let arrive;
    const requested = new Promise((resolve) => (arrive = resolve));
    await open({ answer: arrive });
    const route = await requested;
    await password().pressSequentially("password1");
    assert.deepEqual([await password().inputValue(), await reason()], ["password1", ""]);
    await filterOf(["password1"])(route);
    await says("#verdict", COMMON);
    assert.equal(await reason(), COMMON);

    await open({ answer() {} });
    await signsUp("password1");
  });

  test("speaks only when the typing pauses, and doesn't repeat itself", async () => {
    const prepare = async () => {
      await page.clock.install({ time: 0 });
      await page.clock.pauseAt(1000);
    };
    await open({ answer: filterOf(["password", "password1"]), prepare });
    await ready("password");
    await password().fill("");
    await page.evaluate(() => {
      window.spoken = [];
      const note = () => window.spoken.push(document.querySelector("#verdict").textContent);
      new MutationObserver(note).observe(document.querySelector("#verdict"), {
        childList: true,
        characterData: true,
        subtree: true,
      });
    });
    const spoken = () => page.evaluate(() => window.spoken);
    await password().pressSequentially("password12");
    await page.clock.runFor(2000);
    assert.deepEqual(await spoken(), []);
    await password().fill("password");
    await page.clock.runFor(400);
    await password().press("1");
    await page.clock.runFor(400);
    assert.deepEqual(await spoken(), []);
    await page.clock.runFor(200);
    assert.deepEqual(await spoken(), [COMMON]);
    await password().press("Backspace");
    await page.clock.runFor(2000);
    assert.deepEqual(await spoken(), [COMMON]);
    await password().press("Backspace");
    assert.deepEqual(await spoken(), [COMMON, ""]);
    await password().press("d");
    await password().press("Enter"); // now, and not after a pause
    assert.deepEqual(await spoken(), [COMMON, "", COMMON]);
  });

  test("has a label, and a description with the hint and the verdict", async () => {
    await open();
    await ready("password1");
    await says("#verdict", COMMON);
    const session = await page.context().newCDPSession(page);
    const { root } = await session.send("DOM.getDocument");
    const { nodeId } = await session.send("DOM.querySelector", { nodeId: root.nodeId, selector: "#password" });
    const { nodes } = await session.send("Accessibility.getPartialAXTree", { nodeId, fetchRelatives: false });
    assert.equal(nodes[0].name.value, "Password");
    assert.match(nodes[0].description.value, /^At least 8 characters\. .* This password is on every attacker's list\./);
    assert.equal(await page.locator("#verdict[role=status], #notice[role=status]").count(), 2);
  });

  test("works without JavaScript", async () => {
    await open({ javaScriptEnabled: false });
    await signsUp("password1");
  });

  test("the server serves nothing else from its folders", async () => {
    // Not fetch, because it normalises paths.
    const status = (path) =>
      new Promise((resolve, reject) =>
        get(url, { path }, (response) => resolve(response.resume().statusCode)).on("error", reject),
      );
    assert.equal(await status("/bloom-wasm/reader.js?x"), 200);
    for (const path of [
      "/serve.mjs",
      "//",
      "/bloom-wasm/",
      "/bloom-wasm/../../../signup/index.html",
      "/bloom-wasm/package.json",
      "/%2e%2e/package.json",
    ]) {
      assert.equal(await status(path), 404, path);
    }
  });
});
