/** Build: the form, what the worker says, and the result. */
import { linesOf } from "../lists.ts";
import { areHashes, areUrls, type Look, lookOf } from "../look.ts";
import { download, find, keepFocus, onChoose, onDrop, onForm } from "../page.ts";
import { duration, inWords, keysOf, number, oneIn, plural, significant, size } from "../words.ts";
import type { Message, Order, Result } from "./worker.ts";

const profiles = {
  raw: {
    fpr: 0.001,
    hint: "Keys are compared byte by byte: ask with has. If they are passwords, choose “Passwords”.",
    tool: "The tool also skips lines that begin with #.",
  },
  url: {
    fpr: 0.001,
    hint: "Each line is a URL, a host, ||host^ or a hosts-file entry. A host covers everything below it. Ask with hasUrl.",
    tool: "The tool also skips bare public suffixes, such as co.uk.",
  },
  password: {
    fpr: 0.0001,
    hint: "Passwords are compared in Unicode's normal form NFC. Ask with hasPassword.",
    tool: "",
  },
};
const kinds = {
  ribbon: "Read-only, and the smallest: for shipping a list.",
  bloom: "Keys can be added later, and filters of the same shape merged. 44 % larger than a ribbon filter.",
  cuckoo: "Keys can be added and removed, up to a number that is fixed in advance.",
  counting: "Keys can be added and removed, and filters merged. Four times as large as a Bloom filter.",
  scalable: "It grows as keys are added, for when you don't know how many there will be.",
};
/** Why a line gave no key. */
const reasons: Record<string, string> = {
  not_checkable: "neither a URL nor a host",
  pattern: "an adblock rule other than ||host^",
  local: "a local name",
  single_label: "a rule for a name without a dot",
  too_long: "longer than 1 MiB",
};
/** Fewer keys than these may need no filter. */
const FEW = 5000;
const OFFLINE = "The builder could not be loaded. Are you online?";
const steps = {
  reading: "Reading the list",
  building: "Building the filter",
  measuring: "Measuring the false-positive rate",
};

const inputs = find<HTMLFieldSetElement>("#inputs");
const pasted = find<HTMLTextAreaElement>("#pasted");
const fpr = find<HTMLInputElement>("#fpr");
const name = find<HTMLInputElement>("#name");
const lowercase = find<HTMLInputElement>("#lowercase");
const allow = find<HTMLTextAreaElement>("#allow");
const allowWins = find<HTMLInputElement>("#allow-wins");
const start = find<HTMLButtonElement>("#build");
const cancel = find<HTMLButtonElement>("#cancel");
const working = find("#working");
const step = find("#step");
const progress = find<HTMLProgressElement>("#progress");
const error = find("#error");
const result = find("#result");
const done = find("#done");
const save = find<HTMLButtonElement>("#download");

let file: File | undefined;
let allowFile: File | undefined;
let worker: Worker | undefined;
/** The blob that was built last, and its name. */
let built: { name: string; blob: Uint8Array<ArrayBuffer> };

const chosen = <T extends string>(group: string) => find<HTMLInputElement>(`[name=${group}]:checked`).value as T;
const profile = () => chosen<Order["profile"]>("profile");
const kind = () => chosen<Order["kind"]>("kind");
/** What the page has chosen for the present list; nothing once the visitor has chosen. */
let proposed: Order["profile"] | undefined = "raw";
/** How the list begins. */
let look: Look | undefined;
/** How many of its first lines are looked at, and in how many bytes of the file. */
const LINES = 1000;
const BYTES = 2 ** 18;

/** What the choices mean. */
function explain() {
  find("#profile-hint").textContent = profiles[profile()].hint;
  const reason = find("#profile-why");
  const words = why();
  if (reason.textContent !== words) reason.textContent = words; // or a screen reader would say it again
  reason.classList.toggle("error", profile() === "raw");
  find("#kind-hint").textContent = kinds[kind()];
  find("#lowercase-label").hidden = profile() !== "password";
  const rate = Number(fpr.value);
  const what = { raw: "keys that aren't on the list", url: "harmless URLs", password: "other passwords" }[profile()];
  find("#fpr-hint").textContent =
    rate > 0 && rate < 1 ? `${oneIn(rate)} ${what} will match anyway.` : "A number above 0 and below 1.";
}

function take(chosen: File) {
  file = chosen;
  pasted.value = "";
  find("#file-name").textContent = `${file.name}, ${size(file.size)}`;
  void judge();
}

/** Looks at how the list begins, and chooses the profile for it, unless the visitor has. */
async function judge() {
  const mine = ++judged;
  const list = file ?? new Blob([pasted.value]);
  const lines: string[] = [];
  try {
    for await (const some of linesOf(list.slice(0, BYTES), "the list")) {
      lines.push(...some);
      if (lines.length > LINES) break;
    }
  } catch {
    // The end of what is packed may be missing here. What is wrong with the list itself, building it will tell.
  }
  if (mine !== judged) return;
  if (list.size > BYTES) lines.pop(); // it may be cut off
  look = lookOf(lines.slice(0, LINES), "raw");
  const fits = areUrls(look) ? "url" : "raw";
  if (proposed && proposed !== fits) {
    const isDefault = Number(fpr.value) === profiles[proposed].fpr;
    find<HTMLInputElement>(`[name=profile][value=${fits}]`).checked = true;
    if (isDefault) fpr.value = String(profiles[fits].fpr);
    proposed = fits;
  }
  explain();
}
let judged = 0;

/** Why the profile was chosen, or what speaks against it. */
function why(): string {
  if (!look) return "";
  const { lines, urls } = look;
  if (!areUrls(look)) return "";
  const these = `${number(urls)} of ${lines < LINES ? "" : "the first "}${plural(lines, "line")}`;
  const seen = `${these} ${urls === 1 ? "looks like a URL or host" : "look like URLs or hosts"}`;
  if (proposed === "url") return `${seen}, so this is preselected.`;
  return profile() === "raw" ? `${seen}. ${ONLY_URLS}` : "";
}

function takeAllow(chosen: File) {
  allowFile = chosen;
  allow.value = "";
  allow.placeholder = `${chosen.name}, ${size(chosen.size)}`;
}

/** Shows one of: the work, an error, the result; or nothing. */
function show(what?: HTMLElement) {
  keepFocus(
    () => {
      for (const part of [working, error, done]) part.hidden = part !== what;
      result.hidden = working.hidden && done.hidden;
      inputs.disabled = start.hidden = what === working;
      cancel.hidden = what !== working;
    },
    () => (what === working ? cancel : what === done ? save : start),
  );
}

function fail(cause: unknown) {
  stop();
  error.textContent = inWords(cause);
  show(error);
}

function stop() {
  worker?.terminate();
  worker = undefined;
}

function build() {
  const list = file ?? new Blob([pasted.value]);
  if (!pasted.value.trim() && !file) return fail("Drop, choose or paste a list first.");
  if (list.size === 0) return fail(`“${nameOf(list)}” is empty.`);
  const rate = Number(fpr.value);
  if (!(rate > 0 && rate < 1)) {
    fail("The false-positive rate must be a number above 0 and below 1, such as 0.001.");
    return fpr.focus();
  }
  const order: Order = {
    list,
    kind: kind(),
    profile: profile(),
    fpr: rate,
    name: name.value.trim(),
    lowercase: profile() === "password" && lowercase.checked,
    allow: allowFile ?? (allow.value.trim() ? new Blob([allow.value]) : null),
    allowWins: allowWins.checked,
  };
  stop();
  worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  step.textContent = `${steps.reading} …`;
  progress.removeAttribute("value");
  show(working);
  // Such as a network that is gone.
  worker.addEventListener("error", () => fail(OFFLINE));
  worker.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if ("step" in data) {
      const words = `${steps[data.step]} …`;
      if (step.textContent !== words) step.textContent = words;
      if (data.done === undefined) progress.removeAttribute("value");
      else progress.value = data.done;
    } else if ("error" in data) {
      fail(data.error);
    } else {
      stop();
      present(data.result, order);
    }
  });
  worker.postMessage(order);
}

/** Shows what was built. */
function present(result: Result, order: Order) {
  const { blob, info, count, listBytes, milliseconds, skipped, conflicts, measured, look } = result;
  built = { name: blobName(order), blob };
  const keys = `${keysOf(info.count, count)} in ${size(blob.length)}`;
  const times = listBytes / blob.length;
  const note =
    times >= 1.5
      ? `: ${significant(times)} times smaller than the list.`
      : count < FEW
        ? ". A list this short may not need a filter: a Set is exact."
        : info.kind === "ribbon"
          ? `. The list is ${size(listBytes)}: with keys this short, a filter saves little.`
          : `. The list is ${size(listBytes)}: a ribbon filter is smaller.`;
  find("#headline").textContent = keys + note;
  find("#doubt").textContent = doubtOf(look, order.profile);
  const rows = {
    Size: `${number(blob.length)} bytes; the list is ${number(listBytes)}`,
    "Bits per key": number((blob.length * 8) / count, 1),
    "False positives, asked for": `at most ${oneIn(order.fpr)}`,
    "False positives, measured": rateOf(measured, order.fpr),
    "Time to build": duration(milliseconds),
    Kind: `${info.kind} filter`,
    ID: info.id,
  };
  const body = find<HTMLTableElement>("#figures").tBodies[0]!;
  body.replaceChildren();
  for (const [head, value] of Object.entries(rows)) {
    const row = body.insertRow();
    const cell = row.appendChild(document.createElement("th"));
    cell.scope = "row";
    cell.textContent = head;
    row.insertCell().textContent = value;
  }

  const remarks = Object.entries(skipped).map(
    ([reason, { count, examples }]) =>
      `${plural(count, "line")}: ${reasons[reason] ?? reason}, such as ${examples.join(" · ")}`,
  );
  if (conflicts.count > 0) {
    const verb = conflicts.removed ? "removed" : "kept";
    remarks.push(`${plural(conflicts.count, "key")} listed and allowed, ${verb}: ${conflicts.examples.join(" · ")}`);
  }
  const left = find("#left-out");
  left.hidden = remarks.length === 0;
  find("ul", left).replaceChildren(
    ...remarks.map((remark) => {
      const item = document.createElement("li");
      item.textContent = remark;
      return item;
    }),
  );
  find("#command").textContent = command(order);
  find("#command-hint").textContent = profiles[order.profile].tool;
  show(done);
}

/** What the tool says too if many lines of the list look like what they aren't read as. */
function doubtOf(look: Look, profile: Order["profile"]): string {
  const of = (count: number) => `${number(count)} of ${plural(look.lines, "line")} looked at`;
  if (profile === "raw" && areUrls(look)) return `${of(look.urls)} look like URLs or hosts. ${ONLY_URLS}`;
  if (areHashes(look))
    return `${of(look.hashes)} look like hashes of passwords. Nobody can ask this filter for their passwords. ${ONLY_HASHES}`;
  return "";
}
const ONLY_URLS =
  "As plain keys they are found only in exactly this spelling: build them as “URLs and hosts” to ask with hasUrl.";
const ONLY_HASHES = "For SHA-1 hashes, use the command-line tool, with --profile password --sha1.";

/** The measured rate in words, and what chance makes of the rate that was asked for. */
function rateOf({ asked, matched }: Result["measured"], fpr: number): string {
  if (asked === 0) return "not measured: every made-up key that looks like those on the list is on it";
  const rate = matched > 0 ? oneIn(matched / asked) : "none";
  const what = `${rate}: ${number(matched)} of ${number(asked)} made-up keys that look like those on the list and aren't on it`;
  const expected = asked * fpr;
  const spread = 3 * Math.sqrt(expected * (1 - fpr)); // 997 of 1,000 samples are within it
  // With fewer, the distribution isn't symmetric, and nothing could be told from it anyway.
  if (expected - spread < 5)
    return `${what}. ${oneIn(fpr)} would be ${expected < 1 ? "less than one" : `about ${number(expected)}`} of them: too few to compare.`;
  const [few, many] = [(expected - spread) / asked, (expected + spread) / asked];
  return `${what}. At exactly ${oneIn(fpr)}, chance alone gives between ${oneIn(few)} and ${oneIn(many)} in a sample of this size.`;
}

/** The command that does the same. */
function command(order: Order): string {
  const { list, kind, profile, fpr, name, lowercase, allow, allowWins } = order;
  const quote = (word: string) => (/^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  // A name that begins with "-" would be taken for an option.
  const path = (name: string) => quote(name.replace(/^-/, "./-"));
  return [
    `npx bloom-wasm build ${path(nameOf(list) ?? "list.txt")} -o ${path(blobName(order))}`,
    kind !== "ribbon" && `--kind ${kind}`,
    profile !== "raw" && `--profile ${profile}`,
    `--fpr ${fpr}`,
    lowercase && "--lowercase",
    allow && `--allow ${path(nameOf(allow) ?? "allow.txt")}`,
    allow && allowWins && "--allow-wins",
    name && `--name${name.startsWith("-") ? "=" : " "}${quote(name)}`,
  ]
    .filter(Boolean)
    .join(" ");
}

/** The name of a list that was a file. */
const nameOf = (list: Blob) => (list instanceof File ? list.name : undefined);
const blobName = ({ list }: Order) => `${(nameOf(list) ?? "list").replace(/(\.txt|\.csv|\.list)?(\.gz)?$/i, "")}.bloom`;

onChoose(find("#choose"), find<HTMLInputElement>("#file"), take);
onDrop(find("#drop"), take);
onDrop(allow, takeAllow);
onChoose(find("#choose-allow"), find<HTMLInputElement>("#allow-file"), takeAllow);
allow.addEventListener("input", () => {
  allowFile = undefined;
  allow.placeholder = "";
});
pasted.addEventListener("input", () => {
  file = undefined;
  find("#file-name").textContent = "Drop a text file here, plain or gzipped, or";
  void judge();
});
for (const radio of document.querySelectorAll("[name=profile]")) {
  // Also of the one that is chosen already.
  radio.addEventListener("click", () => {
    proposed = undefined;
    explain();
  });
  radio.addEventListener("change", () => {
    fpr.value = String(profiles[profile()].fpr);
    explain();
  });
}
for (const radio of document.querySelectorAll("[name=kind]")) radio.addEventListener("change", explain);
fpr.addEventListener("input", explain);
find("#form").addEventListener("submit", (event) => {
  event.preventDefault();
  build();
});
cancel.addEventListener("click", () => {
  stop();
  error.textContent = "Cancelled. Nothing was built.";
  show(error);
});
save.addEventListener("click", () => download(built.name, built.blob));
show();
onForm(() => {
  // The browser may have put back what the visitor chose, and a list that was pasted.
  if (profile() !== proposed) proposed = undefined;
  if (pasted.value) void judge();
  else explain();
});
