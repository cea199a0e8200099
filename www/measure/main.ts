/** The section Measure: the benchmark in the visitor's own browser. */
import { bar } from "../bar.ts";
import { copyButton } from "../copy.ts";
import { find, keepFocus } from "../page.ts";
import { inWords, number, percent, plural, significant, size } from "../words.ts";
import { names } from "./names.ts";
import type { Job, Message, Result } from "./worker.ts";

const button = (name: string) => find<HTMLButtonElement>(`#${name}`);
const [start, cancel] = [button("start"), button("cancel")];
const progress = find<HTMLProgressElement>("#progress");
const status = find("#status");
const rows = find<HTMLTableElement>("#results").tBodies[0]!;

let results: Result[] = [];
let measured: Job = { count: 0, rounds: 0 };
let worker: Worker | undefined;

const chosen = (name: string) => Number(find<HTMLSelectElement>(`#${name}`).value);
const time = ({ nanoseconds }: Result) => `${significant(nanoseconds, 3)}\u00a0ns`;
/** A Set has at least the characters of its keys. */
const memory = ({ name, bytes }: Result) => (name === names.set ? `over ${size(bytes)}` : size(bytes));
const wrong = ({ fpr }: Result) => (fpr ? percent(fpr) : "none");

function measure() {
  const job: Job = { count: chosen("count"), rounds: chosen("rounds") };
  running(true);
  progress.value = 0;
  status.textContent = "Making the filters …";
  worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  // Such as a network that is gone.
  worker.addEventListener("error", ({ message }) =>
    stop(message || "The worker could not be started. Are you online?"),
  );
  worker.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if ("done" in data) {
      progress.value = data.done;
      const text = data.round === 0 ? "Warming up …" : `Round ${data.round} of ${job.rounds} …`;
      if (status.textContent !== text) status.textContent = text;
    } else if ("error" in data) {
      stop(inWords(data.error));
    } else {
      [results, measured] = [data.results, job];
      show();
      stop(`Measured with ${number(job.count)} keys, in ${plural(job.rounds, "round")}.`);
    }
  });
  worker.postMessage(job);
}

/** Ends the worker, and says why. */
function stop(why: string) {
  worker?.terminate();
  status.textContent = why;
  running(false);
}

/** Enables one of the two buttons, which gets the focus if the other one had it. */
function running(is: boolean) {
  const [from, to] = is ? [start, cancel] : [cancel, start];
  to.disabled = false;
  keepFocus(
    () => (from.disabled = true),
    () => to,
  );
}

function show() {
  const slowest = Math.max(...results.map(({ nanoseconds }) => nanoseconds));
  const largest = Math.max(...results.map(({ bytes }) => bytes));
  rows.replaceChildren(
    ...results.map((result) => {
      const row = document.createElement("tr");
      row.append(Object.assign(document.createElement("th"), { scope: "row", textContent: result.name }));
      const colour = [names.set, names.plain].includes(result.name) ? 6 : 1;
      row.insertCell().append(time(result), bar(result.nanoseconds / slowest, colour));
      row.insertCell().append(memory(result), bar(result.bytes / largest, colour));
      row.insertCell().textContent = wrong(result);
      return row;
    }),
  );
  button("markdown").disabled = button("text").disabled = false;
}

// The table has its rows before there are any numbers, so that nothing below it moves.
rows.replaceChildren(
  ...Object.values(names).map((name) => {
    const row = document.createElement("tr");
    row.append(Object.assign(document.createElement("th"), { scope: "row", textContent: name }));
    for (let i = 0; i < 3; i++) row.insertCell().textContent = "–";
    return row;
  }),
);

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
find("#form").addEventListener("submit", (event) => {
  event.preventDefault();
  measure();
});
cancel.addEventListener("click", () => {
  progress.value = 0;
  stop("Cancelled. Nothing is running any more.");
});
running(false); // Firefox keeps a button as it was before a reload
