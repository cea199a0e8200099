/** Punycode (RFC 3492): how an international label is written in ASCII. FORMAT-URLS.md, the second reading. */

/** The threshold `t` of the digit at `k` (section 3.3). */
function threshold(k: number, bias: number): number {
  return Math.min(Math.max(k - bias, 1), 26);
}

/** The bias after a delta (section 6.1). */
function adapt(delta: number, count: number, isFirst: boolean): number {
  delta = Math.floor(delta / (isFirst ? 700 : 2));
  delta += Math.floor(delta / count);
  let k = 0;
  for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
  return k + Math.floor((36 * delta) / (delta + 38));
}

/** A label in ASCII. */
export function encode(label: string): string {
  const points = Array.from(label, (char) => char.codePointAt(0)!);
  let out = label.replace(/[^\0-\x7f]/g, "");
  const basic = out.length;
  if (basic === points.length) return label;
  if (basic > 0) out += "-";
  let [done, last, delta, bias] = [basic, 128, 0, 72];
  // Code points are inserted from the smallest up. Each number is the count of places passed since the last one.
  while (done < points.length) {
    const next = points.reduce((least, point) => (point >= last && point < least ? point : least), Infinity);
    delta += (next - last) * (done + 1);
    for (const point of points) {
      if (point < next) delta++;
      else if (point === next) {
        let rest = delta;
        for (let k = 36; ; k += 36) {
          const least = threshold(k, bias);
          if (rest < least) break;
          out += digit(least + ((rest - least) % (36 - least)));
          rest = Math.floor((rest - least) / (36 - least));
        }
        out += digit(rest);
        bias = adapt(delta, done + 1, done === basic);
        delta = 0;
        done++;
      }
    }
    delta++;
    last = next + 1;
  }
  return `xn--${out}`;
}

/** The label that ASCII in lower case stands for. Undefined if it stands for none. */
export function decode(ascii: string): string | undefined {
  if (!ascii.startsWith("xn--")) return ascii;
  // What is before the last hyphen is taken literally.
  const hyphen = ascii.lastIndexOf("-");
  const points = hyphen > 4 ? Array.from(ascii.slice(4, hyphen), (char) => char.codePointAt(0)!) : [];
  let [point, at, bias] = [128, 0, 72];
  for (let i = hyphen > 4 ? hyphen + 1 : 4; i < ascii.length; ) {
    // The next number below 2^32, the lowest digit first.
    let [delta, weight] = [0, 1];
    for (let k = 36; ; k += 36) {
      const value = valueOfDigit(ascii.charAt(i++));
      delta += value * weight;
      const least = threshold(k, bias);
      if (!(delta < 2 ** 32)) return undefined;
      if (value < least) break;
      weight *= 36 - least;
      if (weight >= 2 ** 32) return undefined;
    }
    const count = points.length + 1;
    bias = adapt(delta, count, at === 0);
    at += delta;
    point += Math.floor(at / count);
    at %= count;
    if (point > 0x10ffff || (point > 0xd7ff && point < 0xe000)) return undefined;
    points.splice(at++, 0, point);
  }
  return points.map((point) => String.fromCodePoint(point)).join("");
}

/** A letter for 0 to 25, and a digit for 26 to 35. */
function digit(value: number): string {
  return ((value + 10) % 36).toString(36);
}

/** The inverse of {@link digit}. NaN for anything else, and at the end. */
function valueOfDigit(char: string): number {
  return (parseInt(char, 36) + 26) % 36;
}
