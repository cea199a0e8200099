/** Build: the form, what the worker says, and the result. */
import { download, find, keepFocus, onChoose, onDrop, onForm } from "../page.ts";
import { duration, inWords, keysOf, number, oneIn, plural, significant, size } from "../words.ts";
import type { Message, Order, Result } from "./worker.ts";

const profiles = {
  raw: {
    fpr: 0.001,
    hint: "Keys are compared byte by byte. Ask with has.",
    tool: "The tool also leaves out lines that begin with #.",
  },
  url: {
    fpr: 0.001,
    hint: "Lines are URLs, hosts, ||host^ or entries of hosts files. A host blocks all below it. Ask with hasUrl.",
    tool: "The tool also leaves out bare public suffixes, such as co.uk.",
  },
  password: {
    fpr: 0.0001,
    hint: "Passwords are compared in Unicode's normal form. Ask with hasPassword.",
    tool: "",
  },
};
const kinds = {
  ribbon: "Read-only, and the smallest: for shipping a list.",
  bloom: "Keys can be added later, and filters of one shape merged. 44 % larger than a ribbon filter.",
  cuckoo: "Keys can be added and removed, up to a number known beforehand.",
  counting: "Keys can be added and removed, and filters merged. Four times a Bloom filter.",
  scalable: "It grows with its keys, when nobody knows how many there will be.",
};
/** Why a line gave no key. */
const reasons: Record<string, string> = {
  not_checkable: "neither a URL nor a host",
  pattern: "an adblock rule other than ||host^",
  local: "a name for the own computer",
  single_label: "a rule for a name without a dot",
  too_long: "longer than 1 MiB",
};
/** Fewer keys than these may need no filter. */
const FEW = 5000;
const OFFLINE = "The builder could not be loaded. Are you online?";
const steps = { reading: "Reading the list", building: "Building the filter", measuring: "Measuring its rate" };

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
const nothing = find("#nothing");
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

/** What the choices mean. */
function explain() {
  find("#profile-hint").textContent = profiles[profile()].hint;
  find("#kind-hint").textContent = kinds[kind()];
  find("#lowercase-label").hidden = profile() !== "password";
  const rate = Number(fpr.value);
  const what = { raw: "keys that aren't on the list", url: "harmless URLs", password: "other passwords" }[profile()];
  find("#fpr-hint").textContent =
    rate > 0 && rate < 1 ? `${oneIn(rate)} ${what} will match all the same.` : "A number above 0 and below 1.";
}

function take(chosen: File) {
  file = chosen;
  pasted.value = "";
  find("#file-name").textContent = `${file.name}, ${size(file.size)}`;
}

function takeAllow(chosen: File) {
  allowFile = chosen;
  allow.value = "";
  allow.placeholder = `${chosen.name}, ${size(chosen.size)}`;
}

/** Shows one of: nothing, the work, an error, the result. */
function show(what: HTMLElement) {
  keepFocus(
    () => {
      for (const part of [nothing, working, error, done]) part.hidden = part !== what;
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
  const { blob, info, count, listBytes, milliseconds, skipped, conflicts, measured } = result;
  built = { name: blobName(order), blob };
  const keys = `${keysOf(info.count, count)} in ${size(blob.length)}`;
  const times = listBytes / blob.length;
  const note =
    times >= 1.5
      ? `: ${significant(times)} times smaller than the list.`
      : count < FEW
        ? ". A list this short may need no filter: a Set is exact."
        : info.kind === "ribbon"
          ? `. The list has ${size(listBytes)}: with keys this short, a filter saves little.`
          : `. The list has ${size(listBytes)}: a ribbon filter is smaller.`;
  find("#headline").textContent = keys + note;
  const rows = {
    Size: `${number(blob.length)} bytes; the list has ${number(listBytes)}`,
    "Bits per key": number((blob.length * 8) / count, 1),
    "False positives, measured": rateOf(measured),
    "False positives, asked for": `at most ${oneIn(order.fpr)}`,
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
    remarks.push(`${plural(conflicts.count, "key")} in both lists, ${verb}: ${conflicts.examples.join(" · ")}`);
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

/** The measured rate in words. */
function rateOf({ asked, matched }: Result["measured"]): string {
  if (asked === 0) return "not measured: every key that could be made up like the list's is on it";
  const rate = matched > 0 ? oneIn(matched / asked) : "none";
  return `${rate}: ${number(matched)} of ${number(asked)} made-up keys that look like the list's and aren't on it`;
}

/** The command that does the same. */
function command(order: Order): string {
  const { list, kind, profile, fpr, name, lowercase, allow, allowWins } = order;
  const quote = (word: string) => (/^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  // What begins with "-" would be an option.
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
});
for (const radio of document.querySelectorAll("[name=profile]")) {
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
show(nothing);
onForm(explain);
