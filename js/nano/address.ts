/** IP addresses as hosts. FORMAT.md section 10, step 5 of the canonical form. */

/** One to four numbers, decimal, octal or hexadecimal, as one number. Undefined for anything else. */
function ipv4(host: string): number | undefined {
  const parts = host.split(".");
  let room = 32;
  let address = 0;
  const isOne = parts.every((part, i) => {
    // The last one fills all bytes that are left; every other one is a single byte.
    const bits = i + 1 === parts.length ? room : 8;
    const value = numberOf(part);
    if (room < 8 || !(value < 2 ** bits)) return false;
    room -= bits;
    address += value * 2 ** room;
    return true;
  });
  return isOne ? address : undefined;
}

/** A number as C writes it, or NaN. */
function numberOf(text: string): number {
  const [base, digits, others] = /^0x/i.test(text)
    ? ([16, text.slice(2), /[^0-9a-f]/i] as const)
    : /^0./s.test(text)
      ? ([8, text, /[^0-7]/] as const)
      : ([10, text, /[^0-9]/] as const);
  return others.test(digits) ? NaN : parseInt(digits, base);
}

/** The eight groups of an IPv6 address. */
function ipv6(text: string): number[] | undefined {
  const gap = text.indexOf("::");
  const before = groups(gap < 0 ? text : text.slice(0, gap));
  if (gap < 0) return before?.length === 8 ? before : undefined;
  const after = groups(text.slice(gap + 2));
  // Decimals can only be at the end.
  if (!before || !after || before.length + after.length > 7 || text.slice(0, gap).includes(".")) return undefined;
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** Groups with colons between them, the last two perhaps as four decimals. */
function groups(text: string): number[] | undefined {
  const found: number[] = [];
  const pieces = text ? text.split(":", 9) : [];
  for (const [i, piece] of pieces.entries()) {
    if (i + 1 === pieces.length && piece.includes(".")) {
      const isUsual = piece.length < 16 && /^(\d+\.){3}\d+$/.test(piece) && !/(^|\.)0\d/.test(piece);
      const address = isUsual ? ipv4(piece) : undefined;
      if (address === undefined) return undefined;
      found.push(Math.floor(address / 65536), address % 65536);
    } else if (/^[0-9a-f]{1,4}$/i.test(piece)) found.push(parseInt(piece, 16));
    else return undefined;
  }
  return found;
}

/** The one form of an address. Undefined for any other host. */
export function address(host: string): string | undefined {
  const its = host[0] === "[" && host.endsWith("]") ? ipv6(host.slice(1, -1)) : undefined;
  // ::ffff:0:0/96 and 64:ff9b::/96 have an IPv4 address at their end.
  const number =
    its && /^(0,0,0,0,0,65535|100,65435,0,0,0,0),/.test(String(its)) ? its[6]! * 65536 + its[7]! : (its ?? ipv4(host));
  if (typeof number === "number") return [24, 16, 8, 0].map((by) => (number / 2 ** by) & 255).join(".");
  return number && compressed(number);
}

/** An IPv6 address in brackets. The first of the longest runs of two or more zeros becomes `::`. */
function compressed(its: number[]): string {
  let [end, longest, run] = [0, 1, 0];
  its.forEach((group, i) => {
    run = group ? 0 : run + 1;
    if (run > longest) [end, longest] = [i + 1, run];
  });
  const hex = its.map((group) => group.toString(16));
  const parts = end ? [hex.slice(0, end - longest), hex.slice(end)] : [hex];
  return `[${parts.map((part) => part.join(":")).join("::")}]`;
}
