/** The section Measure: the benchmark in the visitor's own browser. */
import { bar } from "../bar";
import { copyButton } from "../copy";
import { inWords, number, percent, plural, significant, size } from "../words";
import { work } from "../work";
import type { Job, Progress, Result } from "./worker";

const element = <E extends HTMLElement>(selector: string) => document.querySelector<E>(selector)!;
const button = (name: string) => element<HTMLButtonElement>(`#${name}`);
const progress = element<HTMLProgressElement>("#progress");
const status = element("#status");
const rows = element<HTMLTableElement>("#results").tBodies[0]!;

let results: Result[] = [];
let measured: Job = { count: 0, rounds: 0 };
let cancelling: AbortController | undefined;

const chosen = (name: string) => Number(element<HTMLSelectElement>(`#${name}`).value);
const time = ({ nanoseconds }: Result) => `${significant(nanoseconds, 3)}\u00a0ns`;
/** A Set has at least the characters of its keys. */
const memory = ({ name, bytes }: Result) => (name === "Set" ? `over ${size(bytes)}` : size(bytes));
const wrong = ({ fpr }: Result) => (fpr ? percent(fpr) : "none");

async function measure() {
  const job: Job = { count: chosen("count"), rounds: chosen("rounds") };
  cancelling = new AbortController();
  button("start").disabled = true;
  button("cancel").disabled = false;
  progress.value = 0;
  status.textContent = "Making the filters …";
  try {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    results = await work<Job, Progress, Result[]>(worker, job, {
      signal: cancelling.signal,
      onProgress({ done, all }) {
        progress.value = done / all;
        const round = Math.min(job.rounds, Math.floor((done * (job.rounds + 1)) / all));
        const text = round === 0 ? "Warming up …" : `Round ${round} of ${job.rounds} …`;
        if (status.textContent !== text) status.textContent = text;
      },
    });
    measured = job;
    show();
    status.textContent = `Measured with ${number(job.count)} keys, in ${plural(job.rounds, "round")}.`;
  } catch (error) {
    progress.value = 0;
    status.textContent = cancelling.signal.aborted ? "Cancelled. Nothing is running any more." : inWords(error);
  }
  button("start").disabled = false;
  button("cancel").disabled = true;
}

function show() {
  const slowest = Math.max(...results.map(({ nanoseconds }) => nanoseconds));
  const largest = Math.max(...results.map(({ bytes }) => bytes));
  rows.replaceChildren(
    ...results.map((result) => {
      const row = document.createElement("tr");
      row.append(Object.assign(document.createElement("th"), { scope: "row", textContent: result.name }));
      const colour = ["Set", "40 lines of JavaScript"].includes(result.name) ? 6 : 1;
      row.insertCell().append(time(result), bar(result.nanoseconds / slowest, colour));
      row.insertCell().append(memory(result), bar(result.bytes / largest, colour));
      row.insertCell().textContent = wrong(result);
      return row;
    }),
  );
  button("markdown").disabled = button("text").disabled = false;
}

const header = ["", "one has", "memory", "false positives"];
const lines = () => [header, ...results.map((result) => [result.name, time(result), memory(result), wrong(result)])];
const about = () =>
  `bloom-wasm: ${number(measured.count)} URLs of 59 characters at a rate of 0.001, medians of ` +
  `${plural(measured.rounds, "round")}, half members. ${navigator.userAgent}`;
/** With plain spaces, for editors. */
const plain = (text: string) => text.replaceAll("\u00a0", " ");

copyButton(button("markdown"), () => {
  const [head, ...rest] = lines().map((cells) => `| ${cells.join(" | ")} |`);
  return plain([about(), "", head, "| --- | --- | --- | --- |", ...rest].join("\n"));
});
copyButton(button("text"), () => {
  const all = lines();
  const widths = header.map((_, i) => Math.max(...all.map((cells) => cells[i]!.length)));
  const text = all.map((cells) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join("  ")
      .trimEnd(),
  );
  return plain([about(), "", ...text].join("\n"));
});
element("#form").addEventListener("submit", (event) => {
  event.preventDefault();
  void measure();
});
button("cancel").addEventListener("click", () => cancelling?.abort());
