/** The plots of the section Size. */
import { type Axis, type Line, lineChart } from "../chart.ts";
import { find } from "../page.ts";
import { number, percent, significant } from "../words.ts";
import { filling, type Kind, kinds, possible, type Shape, shapeIn } from "./formulas.ts";

const colours: Record<Kind, number> = { ribbon: 1, cuckoo: 2, bloom: 3, scalable: 4, counting: 5 };
const compact = (value: number) => value.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 });
const perKey: Axis = { label: "rate of a key", format: (rate) => `1\u00a0in\u00a0${compact(1 / rate)}`, log: true };
const plots = {
  bits: lineChart(find("#by-bits")),
  fill: lineChart(find("#by-fill")),
  keys: lineChart(find("#by-keys")),
};

/** Draws all plots for a filter, whose keys get the `share`-th part of a check's rate. */
export function draw(shape: Shape, share: number) {
  const { count, fpr } = shape;
  const range = (length: number, at: (i: number) => number) => Array.from({ length }, (_, i) => at(i));

  const LEAST = 1e-7;
  const bits = range(63, (i) => i + 2);
  const visible = (rate: number | undefined) => (rate && rate >= LEAST && rate < 1 ? rate : null);
  const many = Math.max(count, 1000); // below, the sizes go in steps
  plots.bits({
    x: { label: "bits per key", format: (bits) => number(bits), values: bits, range: [0, 64] },
    y: { ...perKey, range: [LEAST, 1] },
    mark: (8 * shape.bytes) / count,
    lines: [
      ...kinds.map((kind): Line => {
        const values = bits.map((bits) => visible(shapeIn(kind, many, Math.round((bits * many) / 8))?.fpr));
        return { label: kind, colour: colours[kind], values };
      }),
      // Ticks across the line of the ribbon filter, which it nearly is.
      { label: "bound", colour: 7, width: 9, dash: [1.5, 8], values: bits.map((bits) => visible(2 ** -bits)) },
    ],
  });

  const shares = range(121, (i) => i / 40);
  const asked = Math.min(0.5, Math.max(fpr, 1e-8));
  // uPlot's steps begin with it, and want a power of ten.
  const least = Number(`1e${Math.floor(Math.log10(asked)) - 3}`);
  const growing = [
    ["bloom", "bloom, counting"],
    ["cuckoo", "cuckoo"],
    ["scalable", "scalable"],
  ] as const;
  plots.fill({
    x: {
      label: "share of the planned keys",
      format: (share) => `${number(100 * share)}\u00a0%`,
      values: shares,
    },
    y: { ...perKey, range: [least, 1] },
    mark: 1,
    lines: growing.map(([kind, label]): Line => {
      const rate = possible(() => filling(kind, count, asked));
      const values = shares.map((share) => {
        const value = possible(() => rate?.(Math.round(share * count)));
        return value && value >= least ? value : null;
      });
      return { label, colour: colours[kind], values };
    }),
  });

  const keys = range(30, (i) => i + 1);
  const whole = Math.min(0.99, fpr * share);
  const any = (rate: number) => keys.map((keys) => -Math.expm1(keys * Math.log1p(-rate)));
  plots.keys({
    x: { label: "keys a URL is looked up under", format: (keys) => number(keys), values: keys },
    y: { label: "chance of being flagged", format: (rate) => (rate === 0 ? "0" : percent(rate)) },
    lines: [
      { label: `profile url, made for ${significant(whole, 3)} per URL`, colour: 1, values: any(whole / 10) },
      { label: `raw keys at ${significant(whole, 3)} each`, colour: 2, values: any(whole) },
    ],
  });
}
