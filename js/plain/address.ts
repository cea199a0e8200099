/** IP addresses as hosts. FORMAT-URLS.md, step 5 of the canonical form. */

import { parse } from "./text.js";

/** The one form of an address, as the runtime's parser writes it. Undefined for any other host. */
export function address(host: string): string | undefined {
  // `0x` alone is no number here, and four numbers below 2^32 are never longer without their zeros.
  const isNumbers = !/[^\da-fx.]/.test(host) && !/(^|\.)0x(\.|$)/.test(host) && host.replace(/0/g, "").length < 60;
  if (!isNumbers && !/^\[[\da-f:.]{2,45}]$/.test(host)) return undefined;
  const href = parse(`http://${host}/`);
  // Numbers that are too large are no address.
  if (href === undefined) return undefined;
  const name = href.slice(7, -1);
  // ::ffff:0:0/96 and 64:ff9b::/96 have an IPv4 address at their end, which is a number too.
  const end = /^\[(?:::ffff:(\w+):|64:ff9b::(?:(\w+):)?)(\w*)]$/.exec(name);
  if (end) return address(String(hex(end[1] ?? end[2]) * 65536 + hex(end[3])));
  return /^(\d+\.){3}\d+$|]$/.test(name) ? name : undefined;
}

/** The value of a group of an address. One that `::` stands for has no digits. */
function hex(digits: string | undefined): number {
  return digits ? parseInt(digits, 16) : 0;
}
