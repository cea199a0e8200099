/** The section Measure: the benchmark in the visitor's own browser. */
import { bar } from "../bar.ts";
import { copyButton } from "../copy.ts";
import { find, keepFocus, onForm } from "../page.ts";
import { inWords, number, percent, plural, significant, size } from "../words.ts";
import { type Job, names, order, steps } from "./job.ts";
import type { Message } from "./worker.ts";

/** What is known of a contestant so far. */
interface Result {
  bytes?: number;
  fpr?: number;
  nanoseconds?: number;
}

/** Milliseconds for a step of a job, on a laptop. */
const LAPTOP = 0.0008;

const button = (name: string) => find<HTMLButtonElement>(`#${name}`);
const [start, cancel] = [button("start"), button("cancel")];
const copies = [button("markdown"), button("text")];
const progress = find<HTMLProgressElement>("#progress");
const status = find("#status");
const now = find("#now");
const rows = find<HTMLTableElement>("#results").tBodies[0]!;

let results: Record<string, Result> = {};
let measured: Job = { count: 0, rounds: 0 };
let worker: Worker | undefined;
let isRunning = false;
/** Milliseconds for a step on this device, once a job has ended. */
let pace: number | undefined;

const chosen = (name: string) => Number(find<HTMLSelectElement>(`#${name}`).value);
const job = (): Job => ({ count: chosen("count"), rounds: chosen("rounds") });
const has = (value: number | undefined): value is number => value !== undefined;
const time = ({ nanoseconds }: Result) => (has(nanoseconds) ? `${significant(nanoseconds, 3)}\u00a0ns` : "–");
const wrong = ({ fpr }: Result) => (has(fpr) ? (fpr ? percent(fpr) : "none") : "–");
/** A Set has at least the characters of its keys. */
function memory(name: string) {
  const { bytes } = results[name]!;
  return has(bytes) ? `${name === names.set ? "over " : ""}${size(bytes)}` : "–";
}

/** A time for a person: whole seconds, or minutes. */
function about(milliseconds: number) {
  const seconds = Math.max(1, Math.round(milliseconds / 1000));
  return seconds < 100 ? plural(seconds, "second") : plural(Math.round(seconds / 60), "minute");
}

/** Says how long the chosen job will take. */
function estimate() {
  if (isRunning) return; // what runs now is shown there
  const lasts = about(steps(job()).all * (pace ?? LAPTOP));
  now.textContent = pace
    ? `The next run takes about ${lasts} here.`
    : `It takes about ${lasts} on a laptop, and may take several times that on a phone.`;
}

function measure() {
  measured = job();
  results = Object.fromEntries(order.map((name) => [name, {}]));
  for (const copy of copies) copy.disabled = true;
  show();
  running(true);
  progress.value = 0;
  status.textContent = "Starting …";
  now.textContent = "";
  const { all } = steps(measured);
  const began = performance.now();
  const elapsed = () => performance.now() - began;
  worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  // Such as a network that is gone.
  worker.addEventListener("error", ({ message }) =>
    stop(message || "The worker could not be started. Are you online?"),
  );
  worker.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if ("running" in data) {
      progress.value = data.done;
      say(stage(data.round));
      // At first, there is little to judge by.
      const left =
        data.done < 0.1 ? all * (pace ?? LAPTOP) * (1 - data.done) : (elapsed() / data.done) * (1 - data.done);
      now.textContent = `Now: ${data.running}. About ${about(left)} left.`;
      show(data.running);
    } else if ("made" in data) {
      Object.assign(results[data.made]!, { bytes: data.bytes, fpr: data.fpr });
      show(data.made);
    } else if ("timed" in data) {
      results[data.timed]!.nanoseconds = data.nanoseconds;
      show(data.timed);
    } else if ("error" in data) {
      stop(inWords(data.error));
    } else {
      pace = elapsed() / all;
      progress.value = 1;
      for (const copy of copies) copy.disabled = false;
      stop(`Measured with ${number(measured.count)} keys, in ${plural(measured.rounds, "round")}.`);
    }
  });
  worker.postMessage(measured);
}

function stage(round: number) {
  if (round < 0) return "Making the filters …";
  return round === 0 ? "Warming up …" : `Round ${round} of ${measured.rounds} …`;
}

/** Says something that is read aloud, once. */
function say(text: string) {
  if (status.textContent !== text) status.textContent = text;
}

/** Ends the worker, and says why. */
function stop(why: string) {
  worker?.terminate();
  status.textContent = why;
  show();
  running(false);
  estimate();
}

/** Enables one of the two buttons, which gets the focus if the other one had it. */
function running(is: boolean) {
  isRunning = is;
  const [from, to] = is ? [start, cancel] : [cancel, start];
  to.disabled = false;
  keepFocus(
    () => (from.disabled = true),
    () => to,
  );
}

/** Fills the table with what is known, and marks the contestant that is running. */
function show(current?: string) {
  const most = (of: (result: Result) => number | undefined) =>
    Math.max(...Object.values(results).map((result) => of(result) ?? 0));
  const slowest = most(({ nanoseconds }) => nanoseconds);
  const largest = most(({ bytes }) => bytes);
  for (const [i, name] of order.entries()) {
    const result = results[name]!;
    const row = rows.rows[i]!;
    const colour = name === names.set || name === names.plain ? 6 : 1;
    const barOf = (value: number | undefined, all: number) => (has(value) ? [bar(value / all, colour)] : []);
    row.ariaCurrent = name === current ? "true" : null;
    row.cells[1]!.replaceChildren(time(result), ...barOf(result.nanoseconds, slowest));
    row.cells[2]!.replaceChildren(memory(name), ...barOf(result.bytes, largest));
    row.cells[3]!.textContent = wrong(result);
  }
}

// The table has its rows before there are any numbers, so that nothing below it moves.
rows.replaceChildren(
  ...order.map((name) => {
    const row = document.createElement("tr");
    row.append(Object.assign(document.createElement("th"), { scope: "row", textContent: name }));
    for (let i = 0; i < 3; i++) row.insertCell().textContent = "–";
    return row;
  }),
);

const header = ["", "one has", "memory", "false positives"];
const lines = () => [header, ...order.map((name) => [name, time(results[name]!), memory(name), wrong(results[name]!)])];
const title = () =>
  `bloom-wasm: ${number(measured.count)} URLs of 59 characters at a rate of 0.001, medians of ` +
  `${plural(measured.rounds, "round")}, half members. ${navigator.userAgent}`;
/** With plain spaces, for editors. */
const plain = (text: string) => text.replaceAll("\u00a0", " ");

copyButton(button("markdown"), () => {
  const [head, ...rest] = lines().map((cells) => `| ${cells.join(" | ")} |`);
  return plain([title(), "", head, "| --- | --- | --- | --- |", ...rest].join("\n"));
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
  return plain([title(), "", ...text].join("\n"));
});
for (const name of ["#count", "#rounds"]) find(name).addEventListener("change", estimate);
find("#form").addEventListener("submit", (event) => {
  event.preventDefault();
  measure();
});
cancel.addEventListener("click", () => {
  progress.value = 0;
  stop("Stopped. The table has what was measured until then.");
});
onForm(estimate);
running(false); // Firefox keeps a button as it was before a reload
