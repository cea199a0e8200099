/**
 * The section Feeds: a recorded feed is played back, one generation after another, through the package's own
 * `openFeed`.
 */
import { type Feed, FilterError, openFeed } from "bloom-wasm/reader";
import { bar } from "../bar.ts";
import { find, keepFocus } from "../page.ts";
import { inWords, number, plural, size } from "../words.ts";
import { folder, type Generation, type Recording, recorded } from "./recording.ts";

/** Milliseconds between two generations. */
const EVERY = 2500;

const button = (name: string) => find<HTMLButtonElement>(`#${name}`);
const [play, step, tamper, again] = [button("play"), button("step"), button("tamper"), button("again")];
const url = find<HTMLInputElement>("#url");
const verdict = find("#verdict");
const wrong = find("#wrong");
const rows = find<HTMLTableSectionElement>("#fetched");
const later = find<HTMLTableSectionElement>("#later");

let recording: Recording;
let feed: Feed | undefined;
/** The generation that the host serves, from 0. */
let served = 0;
/** The generation that the page shows, from 1. A feed numbers its own by the clock. */
let shown = 0;
/** Whether its next manifest is forged. */
let tampered = false;
/** The bytes that the current update has fetched, that all updates have, and that as many full downloads would have. */
let fetched = 0;
let totals = { fetched: 0, full: 0 };
/** Since which generation the watched URL is maybe on the list. */
let blockedSince: number | undefined;
let timer = 0;
/** Updates come one after another. */
let busy = false;

const present = (): Generation => recording.generations[served]!;
const isLast = () => served + 1 === recording.generations.length;

/** A host that serves the recorded generation. Its other files never change, and lie in the folder. */
const host: typeof fetch = async (input, init) => {
  const address = input instanceof Request ? input.url : String(input);
  let body: Uint8Array<ArrayBuffer>;
  if (address === new URL("feed.json", folder).href) {
    const { manifest } = present();
    body = new TextEncoder().encode(tampered ? forged(manifest) : manifest);
  } else {
    const response = await fetch(input, init);
    if (!response.ok) return response;
    body = new Uint8Array(await response.arrayBuffer());
  }
  fetched += body.length;
  return new Response(body);
};

/** The manifest with a higher count of keys, and the old signature. */
function forged(manifest: string): string {
  const { payload, ...rest } = JSON.parse(manifest);
  const plain = JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/")));
  const changed = btoa(JSON.stringify({ ...plain, count: plain.count + 1 }));
  const url64 = changed.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return JSON.stringify({ ...rest, payload: url64 });
}

/** Opens the feed at its first generation. */
async function start() {
  if (busy) return;
  pause();
  feed?.close();
  feed = undefined;
  served = 0;
  totals = { fetched: 0, full: 0 };
  blockedSince = undefined;
  rows.replaceChildren();
  later.replaceChildren(...recording.generations.map((_, i) => rowOf(i + 1, Array(5).fill("–"))));
  await advance(async () => {
    const { publicKey } = recording;
    // Without a cache, it begins anew each time. A real client keeps one.
    feed = await openFeed(new URL("feed.json", folder), { publicKey, fetch: host, cache: null });
  });
}

/** Goes on to the next generation. */
async function next() {
  if (busy || isLast()) return;
  served++;
  const done = await advance(async () => {
    await feed!.update();
  });
  if (!done) served--;
}

/** Runs an update, and shows its result. Returns whether it succeeded. */
async function advance(update: () => Promise<void>): Promise<boolean> {
  busy = true;
  enable();
  fetched = 0;
  wrong.textContent = "";
  try {
    await update();
    show();
    return true;
  } catch (error) {
    pause();
    const refused = error instanceof FilterError && error.code !== "network" ? "Refused. " : "";
    wrong.textContent = `${refused}${inWords(error)}${feed ? " The current filter still answers." : ""}`;
    return false;
  } finally {
    busy = tampered = false;
    enable();
  }
}

function enable() {
  again.disabled = false;
  keepFocus(
    () => {
      play.disabled = step.disabled = tamper.disabled = !feed || isLast();
    },
    () => again,
  );
}

/** A row of the table. */
function rowOf(generation: number, cells: (string | Node[])[]): HTMLTableRowElement {
  const row = document.createElement("tr");
  row.append(Object.assign(document.createElement("th"), { scope: "row", textContent: String(generation) }));
  for (const cell of cells) row.insertCell().append(...cell);
  return row;
}

/** Shows the current generation. */
function show() {
  const { count, added, removed, full } = present();
  shown = served + 1;
  totals.fetched += fetched;
  totals.full += full;
  find("#generation").textContent = `Generation ${shown} of ${recording.generations.length}`;
  find("#news").textContent =
    shown === 1
      ? `${number(count)} hosts. The first download is the whole filter: ${size(fetched)}.`
      : `${plural(added, "host")} new, ${number(removed)} gone. The update took ${size(fetched)}; ` +
        `the whole filter would have been ${size(full)}.`;
  const largest = Math.max(...recording.generations.map(({ full }) => full)) + 1000;
  const sized = (bytes: number, colour: number) => [document.createTextNode(size(bytes)), bar(bytes / largest, colour)];
  const counts = [shown === 1 ? count : added, removed, count].map((value) => number(value));
  rows.append(rowOf(shown, [sized(fetched, 1), sized(full, 6), ...counts]));
  later.rows[0]!.remove();
  find("#total").textContent =
    `So far: ${size(totals.fetched)} with the feed, ${size(totals.full)} with a full download each time.`;
  if (isLast()) pause();
  ask();
}

/** Asks the current filter for the watched URL. */
function ask() {
  const typed = url.value.trim();
  if (!feed || !typed) {
    verdict.textContent = find("#since").textContent = "";
    return;
  }
  const match = feed.filter.matchUrl(typed);
  const was = verdict.className;
  const words = match === null ? "definitely not on the list" : "maybe on the list";
  if (verdict.textContent !== words) verdict.textContent = words;
  verdict.className = match === null ? "not" : "maybe";
  if (match === null) blockedSince = undefined;
  else if (was !== "maybe" || blockedSince === undefined) blockedSince = shown;
  find("#since").textContent =
    match === null ? `in generation ${shown}` : `${match} matched, in generation ${blockedSince}`;
}

const playing = () => timer !== 0;

function pause() {
  clearInterval(timer);
  timer = 0;
  play.textContent = "Play";
}

play.addEventListener("click", () => {
  if (playing()) return pause();
  timer = window.setInterval(next, EVERY);
  play.textContent = "Pause";
  next();
});
step.addEventListener("click", () => {
  pause();
  next();
});
tamper.addEventListener("click", () => {
  pause();
  if (busy) return;
  tampered = true;
  next();
});
again.addEventListener("click", start);
url.addEventListener("input", () => {
  blockedSince = undefined;
  ask();
});

try {
  recording = await recorded();
  const { source, publicKey, generations } = recording;
  const examples = generations.flatMap(({ example }, i) => (example ? [{ example, generation: i + 1 }] : []));
  url.value = `https://www.${(examples[2] ?? examples[0])?.example ?? "example.com"}/login`;
  find("#examples").append(
    "New in",
    ...[examples[1], examples[4], examples.at(-1)].flatMap((one) => {
      if (!one) return [];
      const textContent = `generation ${one.generation}: ${one.example}`;
      const choice = Object.assign(document.createElement("button"), { type: "button", textContent });
      choice.addEventListener("click", () => {
        url.value = `https://${one.example}/`;
        blockedSince = undefined;
        ask();
      });
      return [choice];
    }),
  );
  find("#code").textContent = [
    `import { openFeed } from "bloom-wasm/reader";`,
    "",
    `const publicKey = "${publicKey}";`,
    `const feed = await openFeed("https://lists.example/feed.json", { publicKey });`,
    "feed.watch({ every: 30 * 60_000, onError: console.warn }); // milliseconds",
    "feed.filter.hasUrl(location.href); // asks the newest generation",
  ].join("\n");
  find("#source").textContent =
    `The hosts are from ${source}. The ${number(generations.length - 1)} updates are made up: each adds 60 of the ` +
    "hosts and removes 20 others.";
  await start();
} catch (error) {
  find("#generation").textContent = "The feed could not be opened";
  wrong.textContent = inWords(error);
}
