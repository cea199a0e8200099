/** Bars in the cells of tables, with the colours of the charts. */
import "./chart.css";

/** A bar for a cell of a table, `share` (0 to 1) of the cell wide. The cell says the number besides. */
export function bar(share: number, colour = 1): SVGSVGElement {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("class", "bar");
  svg.setAttribute("aria-hidden", "true");
  const rect = svg.appendChild(document.createElementNS(namespace, "rect"));
  rect.setAttribute("class", `line-${colour}`);
  rect.setAttribute("height", "100%");
  rect.setAttribute("width", `${Math.max(0.4, 100 * share).toFixed(2)}%`);
  return svg;
}
