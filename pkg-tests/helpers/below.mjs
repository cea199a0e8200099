/**
 * Entries of a list of URLs, and URLs that a browser opens at or below them. A filter may miss none of these. Whether a
 * URL is below an entry is known here from the parts of both, without a parser.
 */
import { random } from "./spellings.mjs";

export { random };

const WORDS = ["evil", "a-b", "x1", "login", "0x", "shop", "q--r", "7up"];
/** Labels before the one that makes a host unique. */
const LABELS = "www a b-c 7 0001 999 0x1 _dmarc xn--bcher-kva xn--strae-oqa 1e3 z--z".split(" ");
const ENDS = ["example", "test", "co.test", "xn--p1ai"];
/** Other ways to write a label. */
const UNICODE = {
  "xn--bcher-kva": ["bücher", "BÜCHER", "b\u0075\u0308cher"],
  "xn--strae-oqa": ["straße", "STRA\u1e9eE"],
};
/** Folders and files in their canonical form. */
const PARTS = "a b.c x-y ~u i.html a%20b %C3%A9 a;b=c (1) ... w%25 @ a:b [x] '".split(" ");
const QUERIES = ["?q=1", "?a/b?c", "?/", "??", "?a=%20b&c", "?../..", "?x@y:z"];

/** What is in a folder where the host takes escapes literally, as a browser does. */
const LITERAL = ["x%2F..%2F..%2Fy", "..%2f..%2f", "a/x%2f.%252e%2F../b", "y%5C..%5c..%2Fx"];
/** The same where the host replaces each escape once. */
const TWICE = ["%252e%252e/y", "x/%252e%252e%252f/", "%252e%252e%255c/y"];
/** Detours that such a host doesn't take: it replaces escapes, then runs of slashes, and then dots. */
const DETOURS = ["x%2F..%2F", "%3Fq/..%2F", "%23/..%2f", "x//..%2F", "%2F/x/.%2E%2f", "x%2f%2F..%2F"];

/** Subdomains, and others that only some parsers accept, or that they read in two ways. */
const SUBDOMAINS = [
  "www.",
  "x1.",
  "_a.",
  "-a-.",
  "a--b.",
  "0x1.",
  "xn--bcher-kva.",
  `${"a".repeat(63)}.`,
  "a.b.c.d.e.f.",
];
const ODD_SUBDOMAINS = [..."é. ß. \u05d0. xn--. xn--a. xn--abc-. XN--A. a\u200db.".split(" "), `${"a".repeat(64)}.`];

const choice = (next) => (choices) => choices[Math.floor(next() * choices.length)];
const isAddress = (host) => host.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(host);
const isName = (host) => !isAddress(host) && host.split(".").length >= 2 && host.split(".").length <= 5;

/** A host for a slot's first part, unique to this number. */
function host(shape, i, next) {
  const one = choice(next);
  const own = one(WORDS) + i;
  const named = (labels) => {
    const [end, more] = [one(ENDS), []];
    const rest = labels - end.split(".").length - 1;
    if (rest < 0) return `${own}.example`;
    for (let label = 0; label < rest; label++) more.push(one(LABELS));
    return [...more, own, end].join(".");
  };
  if (shape < 4) return named(shape + 2);
  switch (Math.floor(next() * 4)) {
    case 0:
      return own;
    case 1:
      return named(6 + Math.floor(next() * 4));
    case 2:
      return `${10 + (i >>> 24)}.${(i >>> 16) & 255}.${(i >>> 8) & 255}.${i & 255}`;
    default:
      return `[2001:db8::${(1 + (i >>> 12)).toString(16)}:${(1 + (i & 4095)).toString(16)}]`;
  }
}

/** A path and a query for a slot's second part. */
function path(shape, next) {
  const one = choice(next);
  const folders = (count) => `/${Array.from({ length: count }, () => `${one(PARTS)}/`).join("")}`;
  if (shape < 4) return [folders(shape), ""];
  const any = folders(Math.floor(next() * 6)) + one(["", one(PARTS)]);
  if (shape === 5) return [any, one(QUERIES)];
  return next() < 0.3 ? [folders(4 + Math.floor(next() * 3)), ""] : [folders(Math.floor(next() * 6)) + one(PARTS), ""];
}

/** Entry `i` of a list, with one of these slots. */
export function entry(i, slots, next) {
  const slot = choice(next)(slots);
  const [its, query] = path(slot % 6, next);
  return { host: host(Math.floor(slot / 6), i, next), path: its, query };
}

/** An entry as a line of a list. */
export function line({ host, path, query }, next) {
  const one = choice(next);
  if (path === "/" && !query && !host.startsWith("[")) {
    const [label] = host.split(".");
    const written = UNICODE[label] ? one(UNICODE[label]) + host.slice(label.length) : host.toUpperCase();
    // A rule for all hosts that end in a single label gives no key.
    const rule = host.includes(".") ? `||${host}^` : host;
    return one([host, host, `${host}/`, `http://${host}`, `https://${host}:8443/`, rule, `${host}.`, written]);
  }
  return one(["", "http://", "https://", "HTTP://"]) + host + path + query;
}

/**
 * An entry of a real list, from its line; undefined if it has escapes, for example, and may not be what it looks like.
 */
export function read(line) {
  const form = /^(?:https?:\/\/)?([\w.-]+)(?::\d+)?(\/[^?#]*)?(\?[^#]*)?(?:#.*)?$/i;
  const [, host = "", path = "/", query = ""] = form.exec(line) ?? [];
  const isKnown = /^([\w-]+\.)*[a-z][\w-]*$/i.test(host) || /^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.|$)){4}$/.test(host);
  if (!isKnown || !/^[!-~]*$/.test(line) || /[%\\]|\/\/|\/\.\.?(\/|$)/.test(path) || query.includes("%"))
    return undefined;
  return { host: host.toLowerCase(), path, query: query === "?" ? "" : query };
}

/** A URL at or below an entry, spelled in some way. */
export function below({ host, path, query }, next) {
  const one = choice(next);
  const isPlain = next() < 0.7;
  const isFolder = !query && path.endsWith("/") && path.split("/").length <= 5;
  const more = isFolder
    ? one(["", "x", "x/", "a.b/c", "x/y/z/w/v/u", "a/b/c/d/e/", one(PARTS), one(LITERAL), one(TWICE)])
    : "";
  const its = path + more;
  const asked = query || one(["", "", "?", "?q=1", "?a/b?c"]);
  const fragment = one(["", "", "#", "#x/../y?z"]);
  if (isPlain) {
    const sub = isName(host) && next() < 0.5 ? one(SUBDOMAINS) : "";
    return `${one(["http://", "https://", "http://", ""])}${sub}${host}${its}${asked}${fragment}`;
  }
  const sub = isName(host) && next() < 0.5 ? one(next() < 0.5 ? SUBDOMAINS : ODD_SUBDOMAINS) : "";
  const [scheme, slashes] = one([
    ["http:", one(["//", "//", "/", "", "\\\\", "/\\", "///", "/\t/"])],
    [one(["https:", "HTTP:", "ht\ttps:", "ws:", "WSS:", "ftp:", " http:", "http\t:"]), "//"],
    ["", one(["", "//"])],
  ]);
  const user = scheme ? one(["", "", "u:p@", "good.example@", "good.example%2f@", "@", ":@", "a@b@"]) : "";
  const detour = scheme && !LITERAL.includes(more) && next() < 0.2 ? one(DETOURS) : "";
  const spelled = detour ? `/${detour}${its.slice(1)}` : oddPath(its, next);
  // Without a scheme, `host:/` and `host:80\\` would have one.
  const port = one(["", "", ":80", ":8080", scheme && ":", ":080"]);
  const end = !isAddress(host) ? one(["", "", ".", "%2e", "\u3002"]) : "";
  return (
    scheme +
    slashes +
    user +
    odd(sub + host, next) +
    end +
    port +
    (scheme ? spelled : its) +
    asked +
    fragment +
    one(["", " "])
  );
}

const escaped = (char) => `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
const fullwidth = (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0);

/** Another spelling of a host. */
function odd(host, next) {
  const one = choice(next);
  if (host.startsWith("[")) {
    const [high, low] = host.slice(1, -1).split("::")[1].split(":");
    return one([
      host,
      host.toUpperCase(),
      `[2001:0db8:0:0:0:0:${high}:${low}]`,
      `[2001:DB8::${high.padStart(4, "0")}:${low}]`,
    ]);
  }
  if (isAddress(host)) {
    const [a, b, c, d] = host.split(".").map(Number);
    const hex = (n) => `0x${n.toString(16)}`;
    return one([
      host,
      `${host}.`,
      String(((a * 256 + b) * 256 + c) * 256 + d),
      hex(((a * 256 + b) * 256 + c) * 256 + d),
      `${a}.${(b * 256 + c) * 256 + d}`,
      `0${a.toString(8)}.${b}.${hex(c)}.${d}`,
      `[::ffff:${host}]`,
      `[64:ff9b::${host}]`,
      [...host].map((char) => (next() < 0.3 ? fullwidth(char) : char)).join(""),
      [...host].map((char) => (next() < 0.3 ? escaped(char) : char)).join(""),
    ]);
  }
  const labels = host.split(".").map((label) => (UNICODE[label] && next() < 0.5 ? one(UNICODE[label]) : label));
  const share = one([0, 0.1, 0.3]);
  const letter = (char) => {
    if (!/[a-z]/.test(char) || next() > share) return char;
    return one([char.toUpperCase(), escaped(char), fullwidth(char), `${char}\u00ad`, `\t${char}`]);
  };
  const dot = () => (next() > share ? "." : one(["%2e", "%2E", "\u3002", "\uff0e", "\uff61", "%E3%80%82"]));
  return labels.map((label) => [...label].map(letter).join("")).reduce((host, label) => host + dot() + label);
}

/** Another spelling of a path. */
function oddPath(path, next) {
  const one = choice(next);
  const share = one([0, 0.1, 0.3]);
  const rest = [...path.slice(1)].map((char, i, all) => {
    if (next() > share) return char;
    if (char === "/") return one(["\\", "//", "/./", "/x/../", "/%2e/"]);
    // Escapes stay.
    return /[a-z]/.test(char) && all[i - 1] !== "%" && all[i - 2] !== "%" ? one([escaped(char), `\t${char}`]) : char;
  });
  return one(["/", "\\", "/./", "/x/../", "//"]) + rest.join("");
}
