/** Made-up keys that look like those of a list. */

/** About how many lines are kept, and how many bytes are read at each place. */
const LINES = 5_000;
const WINDOW = 4_096;

/** Takes a few whole lines out of each piece of a text, as it passes by. */
export function sampler() {
  const decoder = new TextDecoder();
  let kept: string[] = [];
  let every = 1; // one piece in this many is looked at
  let pieces = 0;
  return {
    take(piece: Uint8Array) {
      if (pieces++ % every !== 0) return;
      for (let begin = 0; begin < piece.length; begin += 16 * WINDOW) {
        // The first and the last one may be cut off.
        const lines = decoder.decode(piece.subarray(begin, begin + WINDOW)).split("\n");
        const whole = lines.length > 2 ? lines.slice(begin === 0 && pieces === 1 ? 0 : 1, -1) : lines;
        kept.push(...whole.map((line) => line.trim()).filter((line) => line && !line.startsWith("#")));
      }
      if (kept.length > 2 * LINES) {
        kept = kept.filter((_, at) => at % 2 === 0);
        every *= 2;
      }
    },
    lines: () => (kept.length > 0 ? kept : ["key"]),
  };
}

const CLASSES = ["abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"];
const random = (below: number) => Math.floor(Math.random() * below);

/**
 * A key of the same form as a line of the list: each letter and digit becomes another one of its kind, and the rest
 * stays. Of a URL the scheme and the end of the host stay, and rules of adblock and of hosts files lose their marks.
 */
export function lookalike(line: string, url: boolean): string {
  if (!url) return scramble(line);
  const address = line
    .replace(/^\|\|/, "")
    .replace(/\^$/, "")
    .replace(/^(?:0\.0\.0\.0|127\.0\.0\.1)\s+/, "");
  const [, scheme, labels, end, rest] = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*?)((?:\.[^./?#]*)?)([/?#].*)?$/is.exec(
    address,
  ) ?? [null, "", address, "", ""];
  return `${scheme ?? ""}${scramble(labels ?? "")}${end ?? ""}${scramble(rest ?? "")}`;
}

function scramble(text: string): string {
  let made = "";
  for (const character of text) {
    const its = CLASSES.find((characters) => characters.includes(character));
    made += its ? its[random(its.length)] : character;
  }
  return made;
}
