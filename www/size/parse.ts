/** Numbers as people type them. Undefined for anything else. */

const UNITS: Record<string, number> = { "": 1, k: 1e3, m: 1e6, g: 1e9, ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30 };

/** `1000000`, `1,000,000`, `1_000_000`, `1e6`, `1M`, `1 million`. */
export function parseCount(text: string): number | undefined {
  const plain = text
    .replace(/million/i, "M")
    .replace(/thousand/i, "k")
    .replace(/billion/i, "G");
  return whole(withUnit(plain, /^([\d.e+]+)(k|m|g)?$/i), 2 ** 40);
}

/** `1250000`, `1.25 MB`, `512 KiB`. */
export function parseBytes(text: string): number | undefined {
  return whole(withUnit(text.replace(/(bytes?|b)\s*$/i, ""), /^([\d.e+]+)((?:k|m|g)i?)?$/i), 2 ** 40);
}

/** `0.001`, `1e-3`, `0.1 %`, `1/1000`, `1 in 1,000`. */
export function parseRate(text: string): number | undefined {
  const plain = joined(text).toLowerCase();
  const share = /^1(?:\/|in)([\d.e+]+)$/.exec(plain)?.[1];
  const percent = /^([\d.e+-]+)%$/.exec(plain)?.[1];
  // 0.7 / 100 is 0.006999999999999999.
  const rate = share ? 1 / Number(share) : percent ? decimal(Number(percent) / 100) : Number(plain || Number.NaN);
  return rate > 0 && rate < 1 ? rate : undefined;
}

/** A number without what binary fractions add to its last digits. */
const decimal = (value: number) => Number(value.toPrecision(15));

/** Without the marks that separate thousands. A comma elsewhere, as in `0,5`, stays, and makes it no number. */
function joined(text: string): string {
  return text.replace(/[\s_]/g, "").replace(/(\d),(?=\d{3}(?!\d))/g, "$1");
}

function withUnit(text: string, pattern: RegExp): number {
  const [, digits = "", unit = ""] = pattern.exec(joined(text)) ?? [];
  return digits ? Number(digits) * UNITS[unit.toLowerCase()]! : Number.NaN;
}

function whole(value: number, most: number): number | undefined {
  const rounded = Math.round(value);
  return rounded >= 1 && rounded <= most ? rounded : undefined;
}
