/** The manifest of a feed or a sharded filter: what is signed, and by whom. FEED-FORMAT.md has the format. */

import { invalidParameter, TAG_NAME, typeName } from "../boundary/input.js";
import { named } from "../boundary/stream.js";
import { FilterError } from "../error.js";
import { type Hashing, keyOf } from "../plain/hashing.js";
import type { U64 } from "../plain/words.js";

/** @internal The longest manifest, in bytes. */
export const LONGEST = 2 ** 21;

/** The longest payload, in bytes. */
const LONGEST_PAYLOAD = 2 ** 20;
const MOST_SIGNATURES = 16;
const MOST_FILES = 64;
/** The last time that a Date can have. */
const LAST_TIME = 8.64e15;

/** @internal A file whose hash was signed. */
export interface SignedFile {
  /** Its length. */
  bytes: number;
  /** Its hash in hexadecimal, which is also its name. */
  sha256: string;
}

/** @internal A file of a feed: the base, or a delta to what the files before it give. */
export interface FeedFile extends SignedFile {
  kind: "base" | "delta";
}

/** @internal What every payload begins with. */
export interface Head {
  feedId: string;
  name?: string;
  homepage?: string;
  license?: string;
  generation: number;
  createdAt: number;
  expires: number;
  profile: "raw" | "url" | "password";
  /** How passwords are compared. */
  lowercase: boolean;
  sha1: boolean;
  fpr: number;
  seed: string;
  /** The check value of the secret, if it is keyed. */
  check?: string;
  count: number;
}

/** @internal What is signed of a feed. */
export interface FeedPayload extends Head {
  files: [FeedFile, ...FeedFile[]];
}

/** @internal What is signed of a sharded filter. */
export interface ShardsPayload extends Head {
  /** How many there are. */
  shards: number;
  /** The length of all shards. */
  bytes: number;
  /** The hashes of the pages. */
  pages: string[];
  /** The tags, by their numbers, and how many keys have each; undefined for a filter without tags. */
  tags?: { name: string; count: number }[];
}

/** @internal A manifest that was verified. */
export type Manifest<P extends Head> = P & {
  /** The payload as it was signed. */
  signed: string;
  /** The whole manifest as it was fetched. */
  source: Uint8Array;
};

/** @internal What a manifest describes: a feed or a sharded filter. */
export interface Kind<P extends Head> {
  /** The `typ` of its signatures. */
  typ: string;
  /** What it is, for messages. */
  what: string;
  /** The name that the tool gives to its manifest. */
  file: string;
  /** Reads what the payload has besides the {@link Head}. */
  read(payload: Record<string, unknown>): Omit<P, keyof Head>;
  /** The files that a generation is made of: a base, and the deltas that a cache holds together with the manifest. */
  files(payload: P): SignedFile[];
  /** The parts that a cache holds one by one, if there are any: how many of each kind. */
  parts?(payload: P): ["page" | "shard", number][];
}

/** @internal The length of all files. */
export function lengthOf({ files }: { files: SignedFile[] }): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** @internal The public keys that a client trusts. */
export interface TrustedKeys {
  /** In base64url, sorted, each once; none if the feed is unsigned. */
  names: string[];
  keys: CryptoKey[];
}

/** @internal Reads the option `publicKey`. */
export async function importKeys(publicKey: string | string[] | null): Promise<TrustedKeys> {
  if (publicKey === null) return { names: [], keys: [] };
  const given: unknown[] = Array.isArray(publicKey) ? [...publicKey] : [publicKey];
  if (given.length === 0) throw invalidParameter("publicKey must have a key; null = unsigned");
  const raw = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const text of given) {
    const bytes = fromBase64(text);
    if (bytes?.length === 32) raw.set(text as string, bytes);
    else {
      const not = typeof text === "string" ? "" : `, not ${typeName(text)}; null says that the feed is unsigned`;
      throw invalidParameter(`publicKey must be the 43 characters that feed keygen printed${not}`);
    }
  }
  const { subtle } = globalThis.crypto ?? {};
  if (!subtle) throw new FilterError("signature", "no crypto.subtle: signatures need https");
  const imported = [...raw.values()].map((key) => subtle.importKey("raw", key, ED25519, false, ["verify"]));
  const keys = await Promise.all(imported).catch((cause: unknown) => {
    if (Object(cause).name === "DataError") throw invalidParameter("publicKey is not a key of Ed25519");
    throw new FilterError("signature", "this runtime has no Ed25519", { cause });
  });
  return { names: [...raw.keys()].sort(), keys };
}

const ED25519 = { name: "Ed25519" };

/** @internal Reads a manifest. Nothing in its payload is looked at before a signature has been verified. */
export async function readManifest<P extends Head>(
  source: Uint8Array,
  keys: TrustedKeys,
  kind: Kind<P>,
): Promise<Manifest<P>> {
  try {
    return await read(source, keys, kind);
  } catch (error) {
    throw Object(error).code === "not_a_feed" ? named(error, `this is no manifest of ${kind.what}`) : error;
  }
}

async function read<P extends Head>(source: Uint8Array, { keys }: TrustedKeys, kind: Kind<P>): Promise<Manifest<P>> {
  const { payload: signed, signatures } = object(source, "it", "; load takes a blob");
  require(Array.isArray(signatures) && signatures.length <= MOST_SIGNATURES, "signatures");
  // The encoded length is enough to refuse a payload that is too long.
  const fits = typeof signed === "string" && signed.length <= Math.ceil((LONGEST_PAYLOAD * 4) / 3);
  const bytes = fits ? fromBase64(signed) : undefined;
  require(bytes !== undefined, "payload");
  if (keys.length > 0 && !(await isSigned(signed as string, signatures as unknown[], keys, kind.typ)))
    throw new FilterError(
      "signature",
      `none of the public keys has signed it as ${kind.what}; is publicKey the publisher's?`,
    );
  const payload = object(bytes, "the payload");
  const head = readHead(payload);
  return { ...head, ...kind.read(payload), signed, source } as Manifest<P>;
}

/** Whether one of the keys made one of the signatures. */
async function isSigned(payload: string, signatures: unknown[], keys: CryptoKey[], typ: string): Promise<boolean> {
  for (const one of signatures) {
    const { protected: header, signature } = Object(one) as Record<string, unknown>;
    const bytes = fromBase64(signature);
    if (bytes?.length !== 64 || !isOurs(header, typ)) continue;
    const message = new TextEncoder().encode(`${header}.${payload}`);
    for (const key of keys) if (await crypto.subtle.verify(ED25519, key, bytes, message)) return true;
  }
  return false;
}

/** Whether a signature with this header is for this kind of manifest. */
function isOurs(header: unknown, wanted: string): header is string {
  try {
    const { alg, typ, crit, b64 } = object(fromBase64(header), "the header");
    return alg === "EdDSA" && typ === wanted && crit === undefined && b64 === undefined;
  } catch {
    return false;
  }
}

type Rule = (value: unknown, payload: Record<string, unknown>) => boolean;

const isTime: Rule = (value) => isWhole(value, 0, LAST_TIME);
const isOfPasswords: Rule = (value, { profile }) => value === false || (value === true && profile === "password");

/** What each field must be. */
const rules: Record<keyof Head, Rule> = {
  feedId: (value) => isText(value, /^[0-9a-f]{32}$/),
  name: isForPeople,
  // Pages show it as a link, so it mustn't be a script.
  homepage: (value) => isForPeople(value) && (value === undefined || /^https?:\/\/[!-~]+$/.test(value)),
  license: isForPeople,
  generation: (value) => isWhole(value, 1),
  createdAt: isTime,
  expires: isTime,
  profile: (value) => isText(value, /^(raw|url|password)$/),
  lowercase: isOfPasswords,
  sha1: (value, payload) => isOfPasswords(value, payload) && !(value && payload.lowercase),
  fpr: (value) => typeof value === "number" && value > 0 && value < 1,
  seed: (value) => isText(value, /^(0|[1-9]\d{0,19})$/) && BigInt(value) < 1n << 64n,
  check: (value) => value === undefined || isText(value, /^[0-9a-f]{16}$/),
  count: (value) => isWhole(value, 0),
};

function readHead(payload: Record<string, unknown>): Head {
  const { version, lowercase = false, sha1 = false } = payload;
  require(isWhole(version, 1), "version");
  if (version > 1) {
    throw new FilterError("unsupported_version", `the manifest has format version ${version}; update bloom-wasm`);
  }
  const members: Record<string, unknown> = { ...payload, lowercase, sha1 };
  const head: Record<string, unknown> = {};
  for (const [name, rule] of Object.entries(rules)) {
    require(rule(members[name], members), name);
    head[name] = members[name];
  }
  return head as unknown as Head;
}

/** @internal The manifest of a feed. */
export const feedKind: Kind<FeedPayload> = {
  typ: "bloom-wasm-feed",
  what: "a feed",
  file: "feed.json",
  read({ files: listed }) {
    require(Array.isArray(listed) && listed.length >= 1 && listed.length <= MOST_FILES, "files");
    const files = listed.map((file, i) => {
      const { kind, bytes, sha256 } = Object(file) as Record<string, unknown>;
      require(kind === (i === 0 ? "base" : "delta"), "kind");
      require(isWhole(bytes, 1, 2 ** 31 - 1), "bytes");
      require(isText(sha256, SHA256), "sha256");
      return { kind, bytes, sha256 };
    });
    return { files } as FeedPayload;
  },
  files: ({ files }) => files,
};

/** @internal The manifest of a sharded filter. */
export const shardsKind: Kind<ShardsPayload> = {
  typ: "bloom-wasm-shards",
  what: "a sharded filter",
  file: "shards.json",
  read({ shards, bytes, pages: listed, tags }) {
    require(isWhole(shards, 1, 2 ** 16) && Number.isInteger(Math.log2(shards)), "shards");
    require(isWhole(bytes, 0), "bytes");
    const pages: unknown[] = Array.isArray(listed) ? [...listed] : [];
    const count = shards / entriesOf({ shards });
    require(pages.length === count && pages.every((page) => isText(page, SHA256)), "pages");
    return { shards, bytes, pages, ...(tags !== undefined && { tags: tagsIn(tags) }) } as ShardsPayload;
  },
  // Pages and shards are cached one by one, each replacing its predecessor.
  files: () => [],
  parts: ({ pages, shards }) => [
    ["page", pages.length],
    ["shard", shards],
  ],
};

/** The tags of a sharded filter. */
function tagsIn(listed: unknown): ShardsPayload["tags"] {
  require(Array.isArray(listed) && listed.length >= 1 && listed.length <= 255, "tags");
  const tags = listed.map((tag) => {
    const { name, count } = Object(tag) as Record<string, unknown>;
    require(isText(name, TAG_NAME) && isShort(name) && isWhole(count, 0), "tags");
    return { name, count };
  });
  require(new Set(tags.map(({ name }) => name)).size === tags.length, "tags");
  return tags;
}

/** The low half and the high half of a number of 64 bits. */
function halves(number: bigint): U64 {
  return [number, number >> 32n].map((half) => Number(BigInt.asIntN(32, half)));
}

/**
 * @internal How the keys of a generation become digests, without slots. Throws `secret_required` or `wrong_secret`
 * unless the secret matches the check value, or there is neither.
 */
export function hashingOf({ seed, check }: Head, secret: Uint8Array | undefined): Hashing {
  const own = halves(BigInt(seed));
  const wanted = check === undefined ? undefined : halves(BigInt(`0x${check}`));
  return { seed: own, key: keyOf(secret, own, wanted), flags: 0 };
}

/** @internal How many shards a page lists. */
export function entriesOf({ shards }: { shards: number }): number {
  return Math.min(shards, 256);
}

const SHA256 = /^[0-9a-f]{64}$/;

function require(holds: boolean, what: string): asserts holds {
  if (!holds) throw new FilterError("not_a_feed", `${what} is wrong`);
}

function isWhole(value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}

function isText(value: unknown, form: RegExp): value is string {
  return typeof value === "string" && form.test(value);
}

/** Whether a value is what a member for people may be: a short text, or missing. */
function isForPeople(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === "string" && isShort(value));
}

/** Whether a text has at most 255 bytes. */
function isShort(text: string): boolean {
  return new TextEncoder().encode(text).length <= 255;
}

/** The JSON object in some bytes. */
function object(bytes: Uint8Array | undefined, what: string, hint = ""): Record<string, unknown> {
  // Outside the try: if there is no such class, the manifest isn't to blame.
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    const value = JSON.parse(decoder.decode(bytes));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Not UTF-8, not JSON, or so deep that the parser gives up.
  }
  throw new FilterError("not_a_feed", `${what} is no JSON object${hint}`);
}

/** The bytes of base64url without padding. Undefined for anything else, even if only the last, unused bits are set. */
function fromBase64(text: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (typeof text !== "string" || /[^\w-]/.test(text) || text.length % 4 === 1) return undefined;
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  const binary = atob(standard);
  if (btoa(binary).replace(/=+$/, "") !== standard) return undefined;
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
