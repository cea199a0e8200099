/** The section See: a small filter drawn bit by bit, of two kinds. The layers of a blob, below it, are blob.ts. */
import { find, onChoose, onDrop, onForm, whenNear } from "../page.ts";
import { inWords } from "../words.ts";
import { bloom, load } from "./bloom.ts";
import { ribbon } from "./ribbon.ts";
import { tell } from "./story.ts";

const input = find<HTMLInputElement>("#word");
const kinds = { bloom, ribbon };
type Kind = keyof typeof kinds;

let kind: Kind | undefined;
const shown = () => kinds[kind!];

/** Shows the chosen kind, which starts over. So does an empty one, whose shape the browser may have restored. */
function choose() {
  const chosen = find<HTMLInputElement>("[name=kind]:checked").value as Kind;
  if (chosen === kind && !shown().isEmpty()) return;
  if (kind && chosen !== kind) shown().restart(); // what it still waits for is nothing now
  kind = chosen;
  for (const part of document.querySelectorAll<HTMLElement>("[data-kind]")) part.hidden = part.dataset.kind !== kind;
  shown().restart();
}

/** Takes the word that was typed, and leaves it ready for the next one. */
function withTyped(run: (word: string) => void) {
  if (input.value) run(input.value);
  else tell("", "No word yet", "Type a word first.");
  input.focus();
  input.select();
}

find("#form").addEventListener("submit", (event) => {
  event.preventDefault();
  withTyped((word) => shown().add(word));
});
find("#check").addEventListener("click", () => withTyped((word) => shown().check(word)));
find("#ten").addEventListener("click", () => shown().addTen());
find("#find").addEventListener("click", () => shown().findFalsePositive());
find("#all").addEventListener("click", () => shown().checkAll());
find("#clear").addEventListener("click", () => shown().restart());
find("#kinds").addEventListener("change", choose);
for (const field of document.querySelectorAll("#shape select"))
  field.addEventListener("change", () => shown().restart());
for (const type of ["pointerover", "focusin"]) {
  find(".bench").addEventListener(type, () => void load().catch(() => {}), { once: true });
}

/** Whether the visitor has chosen a blob. */
let picked = false;

let code: Promise<typeof import("./blob.ts")> | undefined;

/** Shows a blob. The code for it is loaded on demand; what was asked for meanwhile is shown in that order. */
async function showBlob(show: (blob: typeof import("./blob.ts")) => void) {
  try {
    code ??= import("./blob.ts");
    show(await code);
  } catch (error) {
    code = undefined; // the next click tries again
    find("#blob-error").textContent = inWords(error);
  }
}

function pick(show: (blob: typeof import("./blob.ts")) => void) {
  picked = true;
  void showBlob(show);
}

for (const button of document.querySelectorAll<HTMLButtonElement>("[data-blob]"))
  button.addEventListener("click", () => pick(({ showDemo }) => showDemo(button.dataset.blob as "allowlist" | "feed")));
const pickFile = (file: File) => pick(({ showFile }) => showFile(file));
onChoose(find("#choose"), find<HTMLInputElement>("#file"), pickFile);
onDrop(find("#blob"), pickFile);
whenNear(find("#lower"), () => void showBlob(({ showDemo }) => picked || showDemo("allowlist")));
onForm(choose);
