/** Charts of lines, by uPlot. Each has its numbers as text too. Bars in tables are bar.ts. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "./chart.css";
import { onTheme } from "./theme.ts";

/** One line. Its colour is the variable --line-1, --line-2 ... of chart.css. */
export interface Line {
  label: string;
  colour: number;
  /** Pixels; 2 by default. */
  width?: number;
  /** The pixels of each dash and of the gap after it. */
  dash?: [number, number];
  /** A number for each x, or null where the line has a gap. */
  values: (number | null)[];
}

export interface Axis {
  label: string;
  format: (value: number) => string;
  log?: boolean;
  range?: [number, number];
}

export interface Lines {
  x: Axis & { values: number[] };
  y: Axis;
  lines: Line[];
  /** The x of a vertical mark, such as the value that was chosen. */
  mark?: number;
}

const HEIGHT = 300;
/** Rows of the table that tells a chart's numbers. */
const ROWS = 9;

/**
 * Draws lines into the .chart of a figure, and draws them anew with each call of the result. Screen readers get a table
 * instead, below the caption.
 */
export function lineChart(figure: HTMLElement): (lines: Lines) => void {
  const place = figure.querySelector<HTMLElement>(".chart")!;
  const details = document.createElement("details");
  details.append(Object.assign(document.createElement("summary"), { textContent: "The numbers as a table" }));
  const box = Object.assign(document.createElement("div"), { className: "scroll", tabIndex: 0 });
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", figure.querySelector("figcaption")?.textContent?.trim() ?? "Numbers");
  details.append(box);
  figure.append(details);
  let plot: uPlot | undefined;
  let shown: Lines | undefined;

  const draw = () => {
    if (!shown) return;
    plot?.destroy();
    plot = new uPlot(options(shown, place), [shown.x.values, ...shown.lines.map(({ values }) => values)], place);
  };
  onTheme(draw);
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry!.contentRect.width);
    if (plot && width > 0 && width !== plot.width) plot.setSize({ width, height: HEIGHT });
  }).observe(place);
  return (lines) => {
    shown = lines;
    draw();
    box.replaceChildren(table(lines));
  };
}

function options({ x, y, lines, mark }: Lines, place: HTMLElement): uPlot.Options {
  const colours = getComputedStyle(place);
  // A variable with light-dark() in it is no colour for a canvas, but that of an element is.
  const probe = place.appendChild(document.createElement("i"));
  probe.style.forcedColorAdjust = "none"; // or all lines would have the same
  const colour = (name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const axis = ({ label, format, log }: Axis): uPlot.Axis => ({
    label,
    labelSize: 22,
    labelFont: `13px ${colours.fontFamily}`,
    font: `12px ${colours.fontFamily}`,
    stroke: colour("--quiet"),
    grid: { stroke: colour("--line"), width: 1, ...(log && { filter: powers }) },
    ticks: { stroke: colour("--line"), width: 1, size: 5, ...(log && { filter: powers }) },
    values: (_, values) => values.map((value) => (value === null ? "" : format(value))),
  });
  const series = lines.map(
    ({ label, colour: index, width = 2, dash }): uPlot.Series => ({
      label,
      stroke: colour(`--line-${index}`),
      width,
      points: { show: false },
      ...(dash && { dash }),
      value: (_, value) => (value === null || value === undefined ? "–" : y.format(value)),
    }),
  );
  const marked = colour("--text");
  const result: uPlot.Options = {
    width: Math.max(200, Math.floor(place.clientWidth)),
    height: HEIGHT,
    scales: {
      x: { time: false, range: x.range ?? null! },
      y: { distr: y.log ? 3 : 1, range: y.range ?? null! },
    },
    axes: [axis(x), { ...axis(y), size: 72 }],
    series: [{ label: x.label, value: (_, value) => (value === null ? "–" : x.format(value)) }, ...series],
    cursor: { drag: { x: false, y: false } },
    hooks: {
      draw: [
        ({ ctx, bbox, valToPos }) => {
          if (mark === undefined) return;
          const at = Math.round(valToPos(mark, "x", true)) + 0.5;
          if (at < bbox.left || at > bbox.left + bbox.width) return;
          ctx.save();
          ctx.strokeStyle = marked;
          ctx.lineWidth = 2 * uPlot.pxRatio; // or that of the last line
          ctx.setLineDash([3, 3]);
          ctx.beginPath();
          ctx.moveTo(at, bbox.top);
          ctx.lineTo(at, bbox.top + bbox.height);
          ctx.stroke();
          ctx.restore();
        },
      ],
    },
  };
  probe.remove();
  return result;
}

/** Only powers of ten get a line of the grid. */
const powers = (_: uPlot, splits: number[]) =>
  splits.map((split) => (Math.abs(Math.log10(split) - Math.round(Math.log10(split))) < 1e-6 ? split : null));

/** A few of the numbers as a table. */
function table({ x, y, lines }: Lines): HTMLTableElement {
  const table = document.createElement("table");
  table.className = "numbers";
  const head = table.createTHead().insertRow();
  for (const label of [x.label, ...lines.map(({ label }) => label)]) {
    head.append(Object.assign(document.createElement("th"), { scope: "col", textContent: label }));
  }
  const body = table.createTBody();
  for (let i = 0; i < ROWS; i++) {
    const at = Math.round((i * (x.values.length - 1)) / (ROWS - 1));
    const row = body.insertRow();
    row.append(Object.assign(document.createElement("th"), { scope: "row", textContent: x.format(x.values[at]!) }));
    for (const { values } of lines) {
      const value = values[at];
      row.insertCell().textContent = value === null || value === undefined ? "–" : y.format(value);
    }
  }
  return table;
}
