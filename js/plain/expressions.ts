/**
 * The keys that a URL is looked up by, in the scratch: each of its hosts with each of its paths. FORMAT-URLS.md.
 * They are kept in these variables, since returning them would make garbage for each question.
 */

import { type Blob, hasKey } from "./blob.js";
import type { Canonical } from "./canonical.js";
import { put, roomFor, scratch } from "./scratch.js";
import { hostSlot } from "./slots.js";

/**
 * Where the hosts begin, the exact one first, then from five labels to two; and what each adds to the slot of a key.
 */
const hosts = /* @__PURE__ */ new Int32Array(5);
const hostSlots = /* @__PURE__ */ new Int32Array(5);
let hostCount = 0;

/** Where the paths end, the exact one first; and what each adds to the slot. */
const paths = /* @__PURE__ */ new Int32Array(6);
const pathSlots = /* @__PURE__ */ new Int32Array(6);
let pathCount = 0;

/** Where the last labels of the host begin, each at its number modulo 8, and how many labels there are. */
const labels = /* @__PURE__ */ new Int32Array(8);
let labelCount = 0;

/** Where the key that was found begins and ends. */
export let foundStart = 0;
export let foundEnd = 0;

/** The slots of hosts alone, with the path `/`. */
const HOSTS = 0x1041041;

function addLabel(at: number): void {
  labels[labelCount++ & 7] = at;
}

function addHost(at: number, slot: number): void {
  hosts[hostCount] = at;
  hostSlots[hostCount++] = slot;
}

function addPath(end: number, slot: number): void {
  paths[pathCount] = end;
  pathSlots[pathCount++] = slot;
}

/** The hosts of a name that begins at `host` and has the labels. No part of it looks like an address. */
function addNames(host: number): void {
  hostCount = 0;
  addHost(host, labelCount > 1 && labelCount < 6 ? 6 * labelCount - 12 : 24);
  for (let count = Math.min(labelCount - 1, 5); count > 1; count--)
    addHost(labels[(labelCount - count) & 7]!, 6 * count - 12);
}

/** The path with the query, the path, and its beginnings that end in the first four slashes. */
function addPaths(path: number, query: number, end: number): void {
  pathCount = 0;
  if (query + 1 < end) addPath(end, 5);
  const exact = pathCount;
  addPath(query, 4);
  let folders = 0;
  for (let at = path + 1; at <= query && folders < 4; at++) {
    if (scratch.getUint8(at - 1) !== SLASH) continue;
    // A path that ends in a slash is its own last folder.
    if (at === query) pathSlots[exact] = folders;
    else addPath(at, folders);
    folders++;
  }
}

/** Takes the keys of a URL in canonical form. */
export function take({ text, host, path, query, end, isAddress }: Canonical): void {
  put(text);
  labelCount = 0;
  addLabel(host);
  for (let at = host; at < path && !isAddress; at++) if (scratch.getUint8(at) === DOT) addLabel(at + 1);
  addNames(host);
  for (let i = 0; i < hostCount; i++) hostSlots[i] = hostSlot(scratch, hosts[i]!, path);
  addPaths(path, query, end);
}

function isDigit(code: number): boolean {
  return code > 47 && code < 58;
}

/** Where the host begins of a text with `http://` or `https://`; 0 for any other. `startsWith` takes longer. */
function afterScheme(text: string): number {
  const colon = text.charCodeAt(4) === COLON ? 4 : 5;
  const isScheme =
    text.charCodeAt(0) === 0x68 &&
    text.charCodeAt(1) === 0x74 &&
    text.charCodeAt(2) === 0x74 &&
    text.charCodeAt(3) === 0x70 &&
    (colon === 4 || text.charCodeAt(4) === 0x73);
  const isUrl = text.charCodeAt(colon) === COLON && text.charCodeAt(colon + 1) === SLASH;
  return isScheme && isUrl && text.charCodeAt(colon + 2) === SLASH ? colon + 3 : 0;
}

/**
 * Takes the keys of a URL that is canonical already, as most are. The parser and {@link take} would give the same.
 * False for a URL that may have an address, an international name or a dot segment. For a list of hosts only, nothing
 * after the host is read.
 */
export function takePlain(text: string, map: number): boolean {
  const host = afterScheme(text);
  if (host === 0) return false;
  const { length } = text;
  const bytes = roomFor(length);
  let code = 0;
  /** Where the label begins. */
  let label = host;
  let i = host;
  labelCount = 0;
  addLabel(host);
  for (; i < length; i++) {
    code = text.charCodeAt(i);
    bytes[i] = code;
    if (code > 96 && code < 123) continue;
    if (code === DOT) {
      if (i === label) return false;
      label = i + 1;
      addLabel(label);
    } else if (code === SLASH) break;
    // No label like xn--.
    else if (!(isDigit(code) || code === 95 || (code === HYPHEN && bytes[i - 1] !== HYPHEN))) return false;
  }
  if (code !== SLASH || i === label || isDigit(bytes[label]!)) return false;
  addNames(host);
  const path = i;
  if ((map & ~HOSTS) === 0) {
    pathCount = 0;
    addPath(path + 1, 0);
    return true;
  }
  let query = length;
  for (let last = 0; i < length; i++) {
    code = text.charCodeAt(i);
    if (code < 33 || code > 126 || code === 35 || code === 37) return false;
    if (query === length) {
      if (code === QUESTION) query = i;
      else if (code === 92 || (last === SLASH && (code === SLASH || code === DOT))) return false;
    }
    bytes[i] = code;
    last = code;
  }
  addPaths(path, query, length);
  return true;
}

/** Whether a key that was taken and has a slot of this map is maybe present. The first one is {@link foundStart}. */
export function findKey(blob: Blob, map: number): boolean {
  for (let i = 0; i < hostCount; i++) {
    for (let j = 0; j < pathCount; j++) {
      const slot = hostSlots[i]! + pathSlots[j]!;
      if (((map >>> slot) & 1) === 0 || !hasKey(blob, scratch, hosts[i]!, paths[j]!, slot)) continue;
      foundStart = hosts[i]!;
      foundEnd = paths[j]!;
      return true;
    }
  }
  return false;
}

/** All keys that were taken, of this text. */
export function allKeys(text: string): string[] {
  return Array.from({ length: hostCount * pathCount }, (_, i) =>
    text.slice(hosts[Math.floor(i / pathCount)], paths[i % pathCount]),
  );
}

const HYPHEN = 45;
const DOT = 46;
const SLASH = 47;
const COLON = 58;
const QUESTION = 63;
