/**
 * The rival of `matchUrl`: FORMAT-URLS.md in JavaScript, written to be fast. What comes out of `new URL` is
 * nearly always canonical already: one pass finds that out, and where the keys start and end. Only the odd ones are
 * rewritten.
 */

// The last URL in canonical form, and where its keys start and end. Kept here, so that a query allocates nothing but
// its keys.
let text = "";
const starts = [0, 0, 0, 0, 0];
const ends = [0, 0, 0, 0, 0, 0];
let hosts = 0;
let paths = 0;
const dots = [];

/** The first key of a URL that a filter of npm's `bloomfilter` has; null if none. */
export function matchUrl(filter, url) {
  if (!read(url)) return null;
  for (let i = 0; i < hosts; i++) {
    for (let j = 0; j < paths; j++) {
      const key = text.slice(starts[i], ends[j]);
      if (filter.test(key)) return key;
    }
  }
  return null;
}

/** All keys of a URL. */
export function expressions(url) {
  if (!read(url)) return [];
  return starts.slice(0, hosts).flatMap((start) => ends.slice(0, paths).map((end) => text.slice(start, end)));
}

/** False if there is nothing to look up. */
function read(url) {
  const parsed = parse(url);
  if (parsed !== undefined && special(parsed.protocol)) return scan(parsed.href, true, false) || scanOdd(parsed.href);
  const odd = again(url, parsed);
  return odd !== undefined && scanOdd(odd);
}

function scanOdd(href) {
  const canonical = canonicalize(href);
  return canonical !== undefined && scan(canonical.text, false, canonical.address);
}

function parse(url) {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

function special(protocol) {
  return (
    protocol === "https:" || protocol === "http:" || protocol === "ftp:" || protocol === "ws:" || protocol === "wss:"
  );
}

const [DOT, SLASH, COLON, QUESTION] = [46, 47, 58, 63];

/** Finds the keys. With `strict`, returns false as soon as something isn't canonical. */
function scan(href, strict, address) {
  const host = href.indexOf("//") + 2;
  const { length } = href;
  let at = host;
  let count = 0;
  let code = DOT;
  for (; at < length; at++) {
    const before = code;
    code = href.charCodeAt(at);
    if (code === SLASH) {
      if (before !== DOT) break;
      return false;
    }
    if (code === DOT) {
      if (before === DOT) return false;
      dots[count++] = at + 1;
    } else if (strict && (code === COLON || code === 64 || code === 37 || code === 91)) {
      return false;
    }
  }
  const path = at;
  code = href.charCodeAt(path - 1);
  starts[0] = host;
  hosts = 1;
  if (!address && !(strict && code >= 48 && code <= 57 && /^[\d.]+$/.test(href.slice(host, path)))) {
    for (let labels = Math.min(5, count); labels > 1; labels--) starts[hosts++] = dots[count - labels];
  }

  // Room for the path with its query and the path, which come first.
  let last = 2;
  code = 0;
  for (; at < length; at++) {
    const before = code;
    code = href.charCodeAt(at);
    if (code === QUESTION) break;
    if (code === SLASH) {
      if (before === SLASH) return false;
      if (last < 6) ends[last++] = at + 1;
    } else if (strict && (code === 37 || code === 35)) {
      return false;
    }
  }
  if (strict) {
    for (let i = at + 1; i < length; i++) {
      code = href.charCodeAt(i);
      if (code === 37 || code === 35) return false;
    }
  }
  // A path that ends in a slash is its own last directory.
  if (ends[last - 1] === at) last--;
  paths = 0;
  if (at + 1 < length) ends[paths++] = length;
  ends[paths++] = at;
  for (let i = 2; i < last; i++) ends[paths++] = ends[i];
  text = href;
  return true;
}

/**
 * For a text that doesn't parse, or not as a URL with a host: the href with a scheme put in front, or its bytes;
 * undefined if it has no host.
 */
function again(url, parsed) {
  const input = url.replace(/[\t\n\r]/g, "").replace(/^[\0- ]+|[\0- ]+$/g, "");
  const scheme = /^[a-z][a-z\d+.-]*:/i.test(input);
  const port = scheme && HAS_PORT.test(input);
  if (parsed !== undefined && !port) return undefined;
  if ((!scheme || port) && !/^([?#]|\/(?!\/))/.test(input)) {
    const complete = parse((input.startsWith("//") ? "http:" : "http://") + input);
    if (complete !== undefined) return complete.href;
  }
  return Array.from(new TextEncoder().encode(input), (byte) => String.fromCharCode(byte)).join("");
}

const HAS_PORT = /^[a-z][a-z\d+.-]*:\d+([/?#]|$)/i;

/**
 * The scheme, what is before the authority, the authority, and what is after it; undefined for a scheme without a host.
 */
function split(url) {
  let scheme = /^([a-z][a-z\d+.-]*):/i.exec(url)?.[1].toLowerCase();
  let start = url.startsWith("//") ? 2 : 0;
  if (scheme === undefined || HAS_PORT.test(url)) {
    scheme = "http";
  } else {
    if (!url.startsWith("://", scheme.length) || !special(`${scheme}:`)) return undefined;
    start = scheme.length + 3;
  }
  const length = url.slice(start).search(/[/?]/);
  const end = length < 0 ? url.length : start + length;
  return { scheme, before: url.slice(0, start), authority: url.slice(start, end), after: url.slice(end) };
}

const withoutUser = (authority) => authority.slice(authority.lastIndexOf("@") + 1);

function unescapeAll(url) {
  const { before, authority, after } = split(url) ?? { before: url, authority: "", after: "" };
  let out = "";
  for (const char of before + withoutUser(authority) + after) {
    out += char;
    for (let end; (end = /%([\da-f]{2})$/i.exec(out.slice(-3))); )
      out = out.slice(0, -3) + String.fromCharCode(parseInt(end[1], 16));
  }
  return out;
}

const escapePart = (part) =>
  part.replace(/[^!-~]|[#%]/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`);

/** The canonical form, and whether its host is an address; undefined if there is none. */
function canonicalize(href) {
  const [cut] = href
    .replace(/[\t\n\r]/g, "")
    .replace(/^[\0- ]+|[\0- ]+$/g, "")
    .split("#", 1);
  const parts = split(unescapeAll(cut));
  if (parts === undefined) return undefined;
  let name = withoutUser(parts.authority);
  const bracket = name.startsWith("[") ? name.indexOf("]") : -1;
  const colon = name.indexOf(":", bracket + 1);
  if (colon >= 0) name = name.slice(0, colon);
  name = name
    .split(".")
    .filter(Boolean)
    .join(".")
    .replace(/[A-Z]+/g, (upper) => upper.toLowerCase());
  if (name === "") return undefined;
  const address = ipv4(name) ?? ipv6(name);
  const question = parts.after.indexOf("?");
  const path = question < 0 ? parts.after : parts.after.slice(0, question);
  const query = question < 0 ? "" : parts.after.slice(question);
  return {
    text: `${parts.scheme}://${escapePart(address ?? name)}${escapePart(resolve(path))}${escapePart(query)}`,
    address: address !== undefined,
  };
}

function resolve(path) {
  const out = [];
  const segments = path.replace(/^\//, "").split("/");
  for (const segment of segments) {
    if (segment === "..") out.pop();
    else if (segment !== ".") out.push(segment);
  }
  if (/^\.\.?$/.test(segments.at(-1))) out.push("");
  return `/${out.join("/")}`.replace(/\/+/g, "/");
}

/** A number as C reads it. */
function ipv4(host) {
  const parts = host.split(".");
  if (parts.length > 4) return undefined;
  let address = 0n;
  let room = 32n;
  for (const [i, part] of parts.entries()) {
    if (!/^(0x[\da-f]+|0[0-7]*|[1-9]\d*)$/i.test(part)) return undefined;
    const value = BigInt(/^0\d/.test(part) ? `0o${part}` : part);
    const bits = i === parts.length - 1 ? room : 8n;
    if (value >> bits !== 0n) return undefined;
    room -= bits;
    address |= value << room;
  }
  return decimals(address);
}

const decimals = (address) => [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join(".");

/** The URL parser writes it in its canonical form. */
function ipv6(host) {
  const url = /^\[[\da-f:.]+\]$/.test(host) ? parse(`http://${host}/`) : undefined;
  if (url === undefined) return undefined;
  const [head, tail] = url.hostname
    .slice(1, -1)
    .split("::")
    .map((side) => side.split(":").filter(Boolean));
  const groups = tail ? [...head, ...Array(8 - head.length - tail.length).fill("0"), ...tail] : head;
  const within = /^(0,0,0,0,0,ffff|64,ff9b,0,0,0,0),/.test(groups.join());
  return within ? decimals((BigInt(`0x${groups[6]}`) << 16n) | BigInt(`0x${groups[7]}`)) : url.hostname;
}
