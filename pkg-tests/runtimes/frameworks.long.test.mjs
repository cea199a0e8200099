/** docs/frameworks.md: each recipe unchanged in the real framework, with the shards and with the blob. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { request as send } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import * as vite from "vite";
import * as setup from "../../scripts/setup.mjs";
import { newPage, noChromium, PATIENCE, playwright, start } from "../helpers/browsers.mjs";
import { folder } from "../helpers/installed.mjs";
import { createServer } from "../helpers/server.mjs";
import { page, shell } from "../interop/docs.mjs";
import { commands } from "./commands.mjs";
import { skipped, tried } from "./table.mjs";

const versions = {
  "better-auth": "1.7.25",
  hono: "4.13.19",
  express: "5.3.0",
  fastify: "5.12.8",
  "@auth/core": "0.41.3",
  "@supabase/supabase-js": "2.119.1",
  react: "19.3.1",
  "react-dom": "19.3.1",
};
const modules = setup.installed(
  "recipes",
  Object.entries(versions).map(([name, version]) => `${name}@${version}`),
);

const { text, code } = page("frameworks.md");
const deno = commands.find(({ name }) => name === "Deno");
let browser;

const LISTED = "correct horse battery staple";
const UNLISTED = "violet tractor humming";
const lists = { shards: "pwned/shards.json", blob: "passwords.bloom" };
const refusals = Object.fromEntries(Object.keys(lists).map((list, i) => [list, code["The list"].js[i]]));
const texts = { shards: /has leaked/, blob: /too common/ };

/** A folder with a recipe, the list, and what the recipe imports. */
function app(title, list, change = (source) => source) {
  const cwd = join(folder, `${title.replace(/\W/g, "")}-${list}-${apps++}`);
  mkdirSync(cwd);
  symlinkSync(modules, join(cwd, "node_modules"));
  for (const name of ["pwned", "passwords.bloom"]) symlinkSync(join(folder, name), join(cwd, name));
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ type: "module", dependencies: versions }));
  writeFileSync(join(cwd, "refusal.js"), change(refusals[list]));
  writeFileSync(join(cwd, "users.js"), "export const createUser = (email) => ({ id: '1', email });\n");
  const [recipe, ...more] = code[title].js;
  assert.deepEqual(more, [], `one recipe under "${title}"`);
  assert.ok(recipe.trim().split("\n").length <= 25, `${title} has more than 25 lines`);
  writeFileSync(join(cwd, "recipe.js"), recipe);
  if (code[title].json) writeFileSync(join(cwd, "deno.json"), code[title].json[0]);
  return cwd;
}
let apps = 0;

const load = async (cwd) => import(pathToFileURL(join(cwd, "recipe.js")));

/** A request to a server's address. */
const json = (body, headers) => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/** How each recipe is started. Returns a function that signs up, with the status and text of the answer, and `stop`. */
const recipes = {
  async "better-auth"(cwd) {
    // In their folder, where it finds better-auth.
    const at = (file) => import(pathToFileURL(join(modules, "better-auth/dist", file)));
    const [{ betterAuth }, { memoryAdapter }, { leakedPasswords }] = [
      await at("index.mjs"),
      await at("adapters/memory-adapter/index.mjs"),
      await load(cwd),
    ];
    const users = { user: [], session: [], account: [], verification: [] };
    const auth = betterAuth({
      baseURL: "http://app.example",
      secret: "for the tests, and nobody else: 0123456789",
      database: memoryAdapter(users),
      emailAndPassword: { enabled: true },
      plugins: [leakedPasswords()],
      logger: { disabled: true },
      rateLimit: { enabled: false },
    });
    const post = (path, body, headers) =>
      auth.handler(new Request(`http://app.example/api/auth${path}`, json(body, headers)));
    const signUp = (password, more) => post("/sign-up/email", { name: "A", email: "a@b.example", password, ...more });
    return { auth, users, post, signUp };
  },
  async Hono(cwd) {
    const { app } = await load(cwd);
    app.onError((_, context) => context.text("", 500));
    return { signUp: (password) => app.request("/sign-up", json({ email: "a@b.example", password })) };
  },
  async Express(cwd) {
    const { app } = await load(cwd);
    app.set("env", "test"); // prints no errors
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${server.address().port}/sign-up`;
    return {
      signUp: (password) => fetch(url, json({ email: "a@b.example", password })),
      stop: () => (server.closeAllConnections(), server.close()),
    };
  },
  async Fastify(cwd) {
    const { app } = await load(cwd);
    const url = `${await app.listen({ port: 0, host: "127.0.0.1" })}/sign-up`;
    return { signUp: (password) => fetch(url, json({ email: "a@b.example", password })), stop: () => app.close() };
  },
  async "Auth.js"(cwd) {
    const [{ Auth, skipCSRFCheck }, { signUp }] = [
      await import(pathToFileURL(join(modules, "@auth/core/index.js"))),
      await load(cwd),
    ];
    const config = {
      basePath: "/auth",
      secret: "for the tests",
      trustHost: true,
      skipCSRFCheck,
      providers: [signUp],
      logger: { error() {}, warn() {} },
    };
    return {
      async signUp(password) {
        const body = new URLSearchParams({ email: "a@b.example", ...(password !== undefined && { password }) });
        const request = new Request("http://app.example/auth/callback/sign-up", { method: "POST", body });
        const response = await Auth(request, config);
        const to = response.headers.get("location") ?? "";
        const refused = /[?&]code=refused_password/.test(to);
        const isIn = /session-token=./.test(response.headers.get("set-cookie") ?? "");
        // Errors that have a status.
        const status = isIn ? 201 : refused ? 422 : 500;
        return new Response(refused ? "has leaked, too common, 8 characters" : to, { status });
      },
    };
  },
  /** Deno serves it, and a page of another origin calls it. A server of the test has the lists and the project. */
  async "Supabase's Edge Functions"(cwd) {
    // Deno would find packages missing here in node_modules, which a function doesn't have.
    const sources = ["recipe.js", "refusal.js"].map((name) => readFileSync(join(cwd, name), "utf8")).join("");
    const { imports } = JSON.parse(readFileSync(join(cwd, "deno.json"), "utf8"));
    for (const [, name] of sources.matchAll(/ from "(@?\w[^"]*)"/g)) {
      const mapped = Object.keys(imports).filter((its) => name === its || name.startsWith(`${its}/`));
      assert.equal(mapped.length, 1, `deno.json has no ${name}`);
      assert.match(imports[mapped[0]], new RegExp(`^npm:${mapped[0]}(@2)?$`));
    }
    const created = [];
    const limited = { code: 429, error_code: "over_email_send_rate_limit", msg: "email rate limit exceeded" };
    let url;
    const project = createServer(async (request, response) => {
      const { method, headers } = request;
      const { pathname } = new URL(request.url, "http://localhost");
      if (pathname === "/functions/v1/sign-up") {
        const forwarded = send(url, { method, headers }, (its) => {
          response.writeHead(its.statusCode, its.headers);
          its.pipe(response);
        });
        return request.pipe(forwarded);
      }
      if (pathname === "/page") return response.writeHead(200, { "content-type": "text/html" }).end();
      if (method === "GET") {
        let bytes;
        try {
          bytes = readFileSync(join(cwd, pathname));
        } catch {
          return response.writeHead(404).end();
        }
        return response.end(bytes);
      }
      assert.deepEqual([method, pathname, headers.apikey], ["POST", "/auth/v1/signup", "sb_publishable_1"]);
      let text = "";
      for await (const chunk of request) text += chunk;
      const { email, password } = JSON.parse(text);
      const isLimited = email.startsWith("limited");
      if (!isLimited) created.push({ email, password });
      // A user, but no session before the address is confirmed.
      const body = isLimited ? limited : { id: "1", email, confirmation_sent_at: new Date().toISOString() };
      response.writeHead(isLimited ? 429 : 200, { "content-type": "application/json" }).end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    await once(project, "listening");
    const { port } = project.address();
    const base = `http://127.0.0.1:${port}`;
    const refusal = join(cwd, "refusal.js");
    writeFileSync(refusal, readFileSync(refusal, "utf8").replace("import.meta.url", JSON.stringify(`${base}/x`)));
    const [program, run] = deno.command;
    const options = [run, "--no-lock", "--cached-only", "--node-modules-dir=manual", "--allow-read", "--allow-net"];
    const env = {
      ...process.env,
      DENO_SERVE_ADDRESS: "tcp:127.0.0.1:0",
      NO_COLOR: "1",
      SUPABASE_URL: base,
      SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: "sb_publishable_1" }),
    };
    const server = start(program, [...options, "--allow-env", "recipe.js"], {
      cwd,
      env,
      stdio: ["ignore", "inherit", "pipe"],
    });
    const said = [];
    for await (const line of createInterface(server.stderr)) {
      said.push(line);
      url = /http:\/\/[\d.:]+/.exec(line)?.[0];
      if (url) break;
    }
    assert.ok(url, said.join("\n"));
    browser ??= await playwright();
    const tab = await newPage(browser);
    await tab.goto(`http://localhost:${port}/page`);
    assert.notEqual(new URL(tab.url()).origin, base);
    await tab.addScriptTag({ path: join(modules, "@supabase/supabase-js/dist/umd/supabase.js") });
    const [, call] = /`(supabase\.functions\.invoke\(.*?\))`/.exec(text);
    const [, why] = /is a `FunctionsHttpError`,\s+`(.*?)`/.exec(text);
    const signUp = async (password, email = "a@b.example") => {
      const [status, data] = await tab.evaluate(
        `(async (email, password, options) => {
          const { FunctionsHttpError } = globalThis.supabase;
          const supabase = globalThis.supabase.createClient("${base}", "sb_publishable_1");
          const { data, error } = await ${call};
          if (!error) return [201, JSON.stringify(data)];
          return error instanceof FunctionsHttpError ? [error.context.status, ${why}] : [599, error.message];
        })(${JSON.stringify(email)}, ${JSON.stringify(password)}, { data: { name: "A" } })`,
      );
      return new Response(data, { status });
    };
    return {
      created,
      signUp,
      async others() {
        const { user, session } = await (await signUp(UNLISTED)).json();
        assert.deepEqual([user.id, user.email, session], ["1", "a@b.example", null]);
        const refused = await signUp(UNLISTED, "limited@b.example");
        assert.deepEqual([refused.status, await refused.text()], [429, limited.msg], "what Auth says");
      },
      async stop() {
        await tab.close();
        project.closeAllConnections();
        project.close();
        if (server.kill()) await once(server, "exit");
      },
    };
  },
};

const names = {
  "better-auth": "better-auth",
  Hono: "hono",
  Express: "express",
  Fastify: "fastify",
  "Auth.js": "@auth/core",
  "Supabase's Edge Functions": "@supabase/supabase-js",
};

describe("sign-up", { timeout: 4 * PATIENCE }, () => {
  before(() => {
    if (!modules) return;
    const hash = (password) => createHash("sha1").update(password).digest("hex").toUpperCase();
    writeFileSync(join(folder, "pwned.txt"), `${hash(LISTED)}:9\n${hash("123456")}:3\n`);
    writeFileSync(join(folder, "common.txt"), `${LISTED}\n123456\n`);
    writeFileSync(join(folder, "feed.toml"), code["The list"].toml[0]);
    shell(code["The list"].sh[0], folder);
  });
  after(() => browser?.close());

  for (const [title, begin] of Object.entries(recipes)) {
    const missing = modules ? title.startsWith("Supabase") && (deno.missing || noChromium) : setup.NOT_INSTALLED;
    const skip = missing && skipped(title, missing);
    test(title, { skip }, async (context) => {
      context.mock.method(console, "error", () => {}); // better-auth prints errors for a missing list
      for (const list of Object.keys(lists)) {
        const started = await begin(app(title, list));
        try {
          const answer = async (password) => {
            const response = await started.signUp(password);
            return [response.status, await response.text()];
          };
          // The blob ignores case, like the form's.
          for (const listed of list === "blob" ? [LISTED, LISTED.toUpperCase()] : [LISTED]) {
            const [status, text] = await answer(listed);
            assert.ok(status === 422 || status === 400, `${list}: ${status} ${text}`);
            assert.match(text, texts[list]);
          }
          for (const odd of ["short", undefined]) {
            const [status, text] = await answer(odd);
            assert.ok(status === 422 || status === 400, `${odd}: ${status} ${text}`);
          }
          assert.ok([200, 201].includes((await answer(UNLISTED))[0]));
          if (started.created) assert.deepEqual(started.created, [{ email: "a@b.example", password: UNLISTED }]);
          await started.others?.();
          if (started.users) {
            assert.deepEqual(
              started.users.user.map(({ email }) => email),
              ["a@b.example"],
            );
            await changes(started);
          }
        } finally {
          await started.stop?.();
        }
        // Without the list nobody can sign up, and the next sign-up tries again.
        const cwd = app(title, list, (source) => source.replace(lists[list], `missing/${lists[list]}`));
        const without = await begin(cwd);
        try {
          assert.equal((await without.signUp(UNLISTED)).status, 500);
          symlinkSync(folder, join(cwd, "missing"));
          assert.ok([200, 201].includes((await without.signUp(UNLISTED)).status), "the next one");
        } finally {
          await without.stop?.();
        }
      }
      const package_ = names[title];
      tried(`sign-up: ${title}`, versions[package_], "refuses what is listed, takes what isn't");
    });
  }

  const missing = modules ? noChromium : setup.NOT_INSTALLED;
  test("React, in the page", { skip: missing && skipped("React", missing) }, async (context) => {
    const cwd = join(folder, "react");
    mkdirSync(cwd);
    symlinkSync(modules, join(cwd, "node_modules"));
    symlinkSync(join(folder, "passwords.bloom"), join(cwd, "passwords.bloom"));
    const [field, ...more] = code["In the page"].jsx;
    assert.deepEqual(more, []);
    writeFileSync(join(cwd, "field.jsx"), field);
    const [, use] = /`(<NewPassword .*?>)`/.exec(text);
    // A controlled input, as is common in React.
    const own = use.replace("required", "required value={value} onChange={({ target }) => setValue(target.value)}");
    assert.notEqual(own, use);
    writeFileSync(
      join(cwd, "main.jsx"),
      `import { StrictMode, useState } from "react";
      import { createRoot } from "react-dom/client";
      import { NewPassword } from "./field.jsx";
      function Form() {
        const [value, setValue] = useState("");
        return <form method="post" action="/welcome"><label>Password ${own}</label></form>;
      }
      createRoot(document.body).render(<StrictMode><Form /></StrictMode>);`,
    );
    writeFileSync(
      join(cwd, "index.html"),
      '<!doctype html><body></body><script type="module" src="main.jsx"></script>',
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
      const { password, reason, refused } = await open(arrive);
      await password.focus();
      const route = await requested;
      await password.fill(UNLISTED);
      await password.fill(LISTED);
      assert.equal(await reason(), "", "nothing waits for the list");
      await route.continue();
      await refused(true); // what was typed meanwhile
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
    {
      const { tab, password } = await open(notFound);
      await password.fill(LISTED);
      await password.press("Enter");
      await tab.getByRole("heading", { name: "Welcome" }).waitFor();
    }
    assert.deepEqual(errors, []);
    // package/package.test.mjs weighs it.
    const readme = readFileSync(join(setup.root, "README.md"), "utf8");
    assert.equal(/reader adds (\d+ kB)/.exec(text)[1], /^\| `bloom-wasm\/reader` \|.*?(\d+ kB)/m.exec(readme)[1]);
    tried("sign-up: React", versions.react, "refuses what is listed, takes what isn't");
  });

  test("the blob is that of the example form", () => {
    const readme = readFileSync(join(setup.root, "examples/signup/README.md"), "utf8");
    const [ours, its] = [code["The list"].sh[0], readme].map(
      (text) => /build \S+( .* -o passwords\.bloom)$/m.exec(text)[1],
    );
    assert.equal(ours, its);
    assert.ok(readFileSync(join(setup.root, "examples/signup/signup.js"), "utf8").includes('load("passwords.bloom")'));
  });

  /** A signed-up user changes their password, and resets it. */
  async function changes({ auth, users, post, signUp }) {
    // better-auth accepts any other members in a body.
    for (const other of [UNLISTED, null, ""])
      assert.equal((await signUp(LISTED, { email: "c@d.example", newPassword: other })).status, 400);
    const signedIn = await post("/sign-in/email", { email: "a@b.example", password: UNLISTED });
    assert.equal(signedIn.status, 200);
    const cookie = signedIn.headers
      .getSetCookie()
      .map((it) => it.split(";")[0])
      .join("; ");
    const code = async (path, newPassword, more) => {
      const response = await post(path, { newPassword, ...more }, { cookie, origin: "http://app.example" });
      return response.status === 200 ? 200 : (await response.json()).code;
    };
    const [account] = users.account;
    const stored = account.password;
    account.password = null; // as for users who sign in elsewhere: only the server's own code sets theirs
    const set = (newPassword) => auth.api.setPassword({ body: { newPassword }, headers: new Headers({ cookie }) });
    await assert.rejects(set(LISTED), ({ body }) => body.code === "PASSWORD_REFUSED");
    assert.equal(account.password, null);
    assert.equal((await set(UNLISTED)).status, true);
    account.password = stored;
    const now = { currentPassword: UNLISTED };
    assert.equal(await code("/change-password", LISTED, now), "PASSWORD_REFUSED");
    assert.equal(await code("/change-password", "amber ladder whistling", now), 200);
    assert.equal(await code("/reset-password", LISTED, { token: "none" }), "PASSWORD_REFUSED");
    assert.equal(await code("/reset-password", "amber ladder whistling", { token: "none" }), "INVALID_TOKEN");
    // Nobody who guesses passwords learns anything about them.
    const { status } = await post("/sign-in/email", { email: "a@b.example", password: LISTED });
    assert.equal(status, 401);
  }
});
