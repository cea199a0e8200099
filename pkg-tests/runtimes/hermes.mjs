/**
 * The main script in Hermes, the engine of React Native, whose command line has neither modules nor files: the cases,
 * and the errors for what is missing. `HOST` has what the tests lend it.
 */
import * as reader from "bloom-wasm/reader";
import { run } from "./cases.mjs";

const { golden, hrefs, lends } = globalThis.HOST;

/** The cases' own, to read the golden files. */
globalThis.atob = (base64) => {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  let [text, bits, value] = ["", 0, 0];
  for (const char of base64.replace(/=+$/, "")) {
    value = ((value << 6) | digits.indexOf(char)) & 0xffff;
    bits += 6;
    if (bits >= 8) text += String.fromCharCode((value >> (bits -= 8)) & 255);
  }
  return text;
};

/** What the tests lend to an engine without them. */
const loans = {
  /** UTF-8, as the engine itself encodes it in URIs. */
  TextEncoder: class {
    encode(text) {
      const escaped = encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, "\ufffd"));
      return Uint8Array.from(unescape(escaped), (char) => char.charCodeAt(0));
    }

    encodeInto(text, into) {
      const bytes = this.encode(text);
      into.set(bytes);
      return { written: bytes.length };
    }
  },

  /** What Node's parser returned for the same texts. */
  URL: class {
    constructor(text) {
      if (!(text in hrefs)) throw new Error(`Node was not asked for ${text}`);
      if (hrefs[text] === null) throw new TypeError("Invalid URL");
      this.href = hrefs[text];
    }
  },

  /** React Native's own: it joins strings. */
  "React Native's URL": class {
    constructor(url) {
      this.href = url.endsWith("/") ? url : `${url}/`;
    }
  },
};

for (const name of lends) globalThis[name.split(" ").pop()] = loans[name];

/** The errors for what is missing. */
async function said(run) {
  try {
    return await run();
  } catch ({ name, code, message }) {
    return `${name}${code ? ` ${code}` : ""}: ${message}`;
  }
}

const bytes = (name) => {
  const { base64 } = golden.find((file) => file.name === name);
  return Uint8Array.from(globalThis.atob(base64), (char) => char.charCodeAt(0));
};

async function answers() {
  const filter = reader.decode(bytes("slots-one"));
  return {
    plain: await said(() => filter.matchUrl("http://w.host6.example/a/b/c")),
    user: await said(() => filter.matchUrl("http://user@HOST0.example/")),
    long: await said(() => filter.has("\u00e9")),
    integrity: await said(() => reader.load(body(bytes("ribbon")), { integrity: `sha256-${"A".repeat(43)}=` })),
    streamless: await said(() => reader.load({ ok: true, status: 200, url: "https://a.example/b" })),
    feed: await said(() =>
      reader.openFeed("https://lists.example/feed.json", { publicKey: "A".repeat(43), cache: null }),
    ),
  };
}

/** As `load` takes it, with a stream of one chunk. */
function body(chunk) {
  const chunks = [chunk];
  const read = async () => ({ done: chunks.length === 0, value: chunks.pop() });
  const getReader = () => ({ read, cancel: async () => {}, releaseLock() {} });
  return { ok: true, status: 200, url: "", body: { getReader }, headers: undefined };
}

async function all() {
  const lacks = ["Response", "TextDecoder", "TextEncoder", "URL", "crypto"].filter((name) => !(name in globalThis));
  // There are no cases for a URL class that isn't a parser.
  const verdict = lends.includes("React Native's URL") ? undefined : await run({ reader, golden }, undefined, lacks);
  return { verdict, lacks, answers: await answers() };
}

all().then(
  (found) => globalThis.print(JSON.stringify(found)),
  (error) => globalThis.print(JSON.stringify({ error: `${error.stack}` })),
);
