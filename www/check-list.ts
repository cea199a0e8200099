/** Checks a whole list, line by line, without making the page wait. */
import type { Filter } from "bloom-wasm/reader";
import { doubtOf } from "./doubt.ts";
import { linesOf } from "./lists.ts";
import { breathe, download, find, keepFocus, onChoose, onDrop } from "./page.ts";
import { inWords, number, percent, plural } from "./words.ts";

/** For how many milliseconds lines are checked before the page may react. */
const SLICE = 25;
/** How many hits are shown; all are in the download. */
const SHOWN = 10;

type Match = (filter: Filter, line: string) => string | null;

/** The form for lists. `use` gives it a filter, or takes it away. */
export function listChecker() {
  const form = find<HTMLFormElement>("#bulk");
  const fieldset = find<HTMLFieldSetElement>("fieldset", form);
  const lines = find<HTMLTextAreaElement>("#lines", form);
  const submit = find<HTMLButtonElement>("[type=submit]", form);
  const stop = find<HTMLButtonElement>("#stop", form);
  const save = find<HTMLButtonElement>("#download", form);
  const bar = find<HTMLProgressElement>("progress", form);
  const status = find("[role=status]", form);
  const doubtful = find("#doubtful", form);
  const shown = find("ul", form);
  let filter: Filter | undefined;
  let match: Match = () => null;
  let file: File | undefined; // what is checked instead of the text
  let hits: string[] = [];
  let run = 0; // the number of the current run; earlier ones have been stopped

  const running = (is: boolean) =>
    keepFocus(
      () => (stop.hidden = bar.hidden = !is),
      () => submit,
    );

  function reset(text = "") {
    run++;
    hits = [];
    status.textContent = text;
    doubtful.textContent = "";
    shown.replaceChildren();
    save.hidden = true;
    running(false);
  }

  async function check() {
    reset();
    const mine = run;
    running(true);
    bar.removeAttribute("value");
    const list = file ?? new Blob([lines.value]);
    const read = (done: number) => {
      if (run === mine) bar.value = done;
    };
    const profile = filter!.info().profile;
    let count = 0;
    /** How many lines each doubt is about. */
    const doubts = new Map<string, number>();
    let pause = performance.now() + SLICE;
    for await (const some of linesOf(list, file ? `“${file.name}”` : "the list", read)) {
      if (run !== mine) return;
      for (const line of some) {
        count++;
        if (filter && match(filter, line) !== null) hits.push(line);
        const doubt = doubtOf(profile, line)?.lines;
        if (doubt) doubts.set(doubt, (doubts.get(doubt) ?? 0) + 1);
        if (performance.now() < pause) continue;
        await breathe();
        if (run !== mine) return;
        pause = performance.now() + SLICE;
      }
    }
    if (run !== mine) return;
    running(false);
    if (count === 0) return void (status.textContent = "There is no line to check. Paste a list first.");
    save.hidden = hits.length === 0;
    const share = `${plural(hits.length, "line")} of ${number(count)} (${percent(hits.length / count)})`;
    status.textContent = `${share} ${hits.length === 1 ? "is" : "are"} maybe on the list.`;
    // A few such lines are in many lists.
    const [[doubt, doubted] = ["", 0]] = [...doubts].filter(([, lines]) => lines > count / 2);
    doubtful.textContent = doubt && `${number(doubted)} of ${plural(count, "line")} ${doubt}`;
    shown.replaceChildren(
      ...hits.slice(0, SHOWN).map((hit) => {
        const item = document.createElement("li");
        item.textContent = hit;
        return item;
      }),
    );
    if (hits.length > SHOWN) {
      const more = document.createElement("li");
      more.textContent = `and ${plural(hits.length - SHOWN, "more", "more")}, in the download`;
      shown.append(more);
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const mine = run + 1;
    check().catch((error) => run === mine && reset(inWords(error)));
  });
  stop.addEventListener("click", () => reset("Cancelled."));
  save.addEventListener("click", () => download("hits.txt", `${hits.join("\n")}\n`));
  lines.addEventListener("input", () => {
    file = undefined;
    lines.placeholder = "";
  });
  const take = (chosen: File) => {
    // A large list would make the text field slow.
    file = chosen;
    lines.value = "";
    lines.placeholder = chosen.name;
    reset(`“${chosen.name}” is ready.`);
  };
  onDrop(lines, take);
  onChoose(find("#choose-list"), find<HTMLInputElement>("#list"), take);

  return {
    use(next: Filter | undefined, how: Match = match) {
      [filter, match] = [next, how];
      fieldset.disabled = !next;
      reset();
    },
  };
}
