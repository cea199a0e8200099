/** The page's script: loads a filter once, then answers for each URL or key that is typed. */
import { type Filter, FilterError, load } from "bloom-wasm/reader";

const element = <E extends HTMLElement>(selector: string) => document.querySelector<E>(selector)!;
const ask = element<HTMLFieldSetElement>("#ask");
const key = element<HTMLInputElement>("#key");
const loading = element("#loading");
const progress = element<HTMLProgressElement>("#progress");
const bytes = element("#bytes");
const error = element("#error");
const verdict = element("#verdict");
const meaning = element("#meaning");
const time = element("#time");
const info = element<HTMLTableElement>("#info");

const url = new URLSearchParams(location.search).get("filter") ?? "phishing.bloom";
const number = (value: number, digits = 0) => value.toLocaleString("en", { maximumFractionDigits: digits });
const oneIn = (rate: number) => (rate > 0 ? `1\u00a0in\u00a0${number(1 / rate)}` : "none");
const date = new Intl.DateTimeFormat("en", { dateStyle: "long", timeStyle: "short" });

const profiles = {
  raw: "raw: keys are used as given",
  url: "url: hosts and paths, looked up as Safe Browsing does",
  password: "password",
};

let filter: Filter | undefined;

/** Loads the filter and shows how far it is, then either the filter or what went wrong. */
async function start(cache: RequestCache) {
  error.hidden = true;
  loading.hidden = false;
  progress.removeAttribute("value");
  bytes.textContent = "";
  let status = 0; // 0 = no answer
  try {
    filter = await load(url, {
      async fetch(input, init) {
        const response = await fetch(input, { ...init, cache });
        status = response.status;
        return response;
      },
      onProgress({ loaded, total }) {
        if (total) [progress.value, progress.max] = [loaded, total];
        bytes.textContent = total ? `${number(loaded)} of ${number(total)} bytes` : `${number(loaded)} bytes`;
      },
    });
    describe(filter);
    ask.disabled = false;
    answer();
  } catch (cause) {
    error.querySelector("p")!.textContent = inWords(cause, status);
    error.hidden = false;
  }
  loading.hidden = true;
}

function inWords(cause: unknown, status: number): string {
  switch (cause instanceof FilterError && cause.code) {
    case "http":
      if (status === 404) return "The server has no such filter (status 404).";
      return `The server did not send the filter (status ${status}).`;
    case "network":
      if (status) return "The transfer broke off before the filter was complete.";
      return "The server could not be reached. Are you online?";
    case "truncated":
      return "The filter arrived incomplete: its end is missing.";
    case "checksum_mismatch":
    case "trailing_bytes":
    case "invalid_parameter":
      return "The filter arrived damaged, so it is not used.";
    case "not_a_filter":
      return "What the server sent is not a filter.";
    case "unsupported_version":
    case "unsupported_kind":
      return "The filter is newer than this page can read.";
    default:
      return `The filter could not be loaded: ${cause instanceof Error ? cause.message : cause}`;
  }
}

/** Asks the filter for what is in the text field. */
function answer() {
  const typed = key.value.trim();
  if (!filter || !typed) {
    verdict.textContent = time.textContent = "";
    meaning.textContent = "Type an address to see the answer.";
    return;
  }
  const found = match(filter, typed);
  const maybe = found !== null;
  const words = maybe ? "maybe on the list" : "definitely not on the list";
  if (verdict.textContent !== words) verdict.textContent = words; // or a screen reader would say it at every keystroke
  verdict.className = maybe ? "maybe" : "not";
  meaning.textContent = maybe
    ? `${found} matched. So does about ${oneIn(filter.estimatedFpr)} of the keys that are not on the list.`
    : "This answer is never wrong.";
  time.textContent = duration(filter, typed);
}

/** The key that is maybe on the list. */
function match(filter: Filter, typed: string): string | null {
  if (filter.info().profile === "url") return filter.matchUrl(typed);
  return filter.has(typed) ? typed : null;
}

/** How long one check takes: the shortest of three measurements, since the machine may be busy with something else. */
function duration(filter: Filter, typed: string): string {
  const micros = Math.min(measure(filter, typed), measure(filter, typed), measure(filter, typed));
  if (!micros) return "One check takes under 0.1 ms.";
  return `One check takes about ${micros.toLocaleString("en", { maximumSignificantDigits: 2 })} µs.`;
}

/** The microseconds of a check, from enough checks to fill two milliseconds, since a browser's clock is coarse. */
function measure(filter: Filter, typed: string): number {
  const check = filter.info().profile === "url" ? () => filter.hasUrl(typed) : () => filter.has(typed);
  let checks = 1;
  let elapsed = 0;
  while (elapsed < 2 && checks < 1e5) {
    checks *= 2;
    const begin = performance.now();
    for (let i = 0; i < checks; i++) check();
    elapsed = performance.now() - begin;
  }
  return (elapsed / checks) * 1000;
}

/** Fills the table. */
function describe(filter: Filter) {
  const about = filter.info();
  const rows = {
    Name: about.name ?? "not given",
    Kind: `${about.kind} filter`,
    "Key profile": profiles[about.profile],
    Keys: about.count === null ? `about ${number(filter.estimatedCount)}, by estimate` : number(about.count),
    "False positives": `${oneIn(filter.estimatedFpr)} keys that are not on the list`,
    Layers: about.layers > 0 ? `${about.layers}, of keys that are never matched` : "none",
    Bits: number(about.bits),
    "Bits per key": about.bitsPerKey === null ? "no keys" : number(about.bitsPerKey, 1),
    Size: `${number(about.byteLength)} bytes`,
    Seed: about.seed,
    "Created at": about.createdAt === null ? "not given" : date.format(about.createdAt),
    ID: about.id,
  };
  for (const [name, value] of Object.entries(rows)) {
    const row = info.insertRow();
    const head = row.appendChild(document.createElement("th"));
    head.scope = "row";
    head.textContent = name;
    row.insertCell().textContent = value;
  }
  info.hidden = false;
}

key.addEventListener("input", answer);
for (const example of document.querySelectorAll<HTMLButtonElement>("#examples button")) {
  example.addEventListener("click", () => {
    key.value = example.textContent;
    answer();
  });
}
error.querySelector("button")!.addEventListener("click", async () => {
  await start("reload"); // bypasses the browser's cache
  key.focus();
});
void start("default");
