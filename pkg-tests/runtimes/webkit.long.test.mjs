/** The cases in WebKit, as GNOME's browser has it: in a page and its worker. */
import { once } from "node:events";
import { createServer } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import * as setup from "../../scripts/setup.mjs";
import { ofWorker, PATIENCE, start } from "../helpers/browsers.mjs";
import { at, plain } from "../helpers/site.mjs";
import { record, skipped } from "./table.mjs";

const commands = setup.webkit();
const missing = !commands && "there is no WebKitWebDriver, or no Xvfb";
const options = (target) => ({ timeout: 2 * PATIENCE, skip: missing && skipped(target, missing) });
let screen;
let driver;
let port;
let session;
let version;

/** One command of the WebDriver protocol; returns its value. */
async function command(method, path, body) {
  const response = await fetch(`http://localhost:${port}/${path}`, { method, body: body && JSON.stringify(body) });
  const { value } = await response.json();
  if (!response.ok) throw new Error(value.message);
  return value;
}

before(
  async () => {
    if (missing) return;
    screen = start(commands.screen, ["-displayfd", "3", "-nolisten", "tcp"], {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    const [display] = await once(screen.stdio[3], "data");
    const free = createServer().listen(0);
    await once(free, "listening");
    ({ port } = free.address());
    free.close();
    const env = { ...process.env, DISPLAY: `:${String(display).trim()}` };
    driver = start(commands.driver, [`--port=${port}`], { env, stdio: "ignore" });
    while (!(await command("GET", "status").catch(() => driver.exitCode !== null))) await setTimeout(20);
    const { sessionId, capabilities } = await command("POST", "session", { capabilities: {} });
    session = `session/${sessionId}`;
    version = capabilities.browserVersion;
    plain("webkit");
  },
  { timeout: 2 * PATIENCE },
);

after(
  async () => {
    if (session) await command("DELETE", session);
    driver?.kill();
    screen?.kill();
  },
  { timeout: PATIENCE },
);

/** The page's verdict, like `visit` for other browsers. This one may report a page as loaded before its scripts ran. */
async function ask(question) {
  await command("POST", `${session}/url`, { url: at("webkit/index.html") });
  const script = `return globalThis.verdict && (${question})()`;
  for (;;) {
    const answer = await command("POST", `${session}/execute/sync`, { script, args: [] });
    if (answer) return answer;
    await setTimeout(20);
  }
}

test("a page", options("WebKit, page"), async () => {
  record("WebKit, page", version, await ask(() => globalThis.verdict));
});

test("a page's module worker", options("WebKit, worker"), async () => {
  record("WebKit, worker", version, await ask(ofWorker));
});
