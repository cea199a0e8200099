/** The interactive parts of a page of the docs: the search box, and the buttons that copy code. */
import MiniSearch from "minisearch";
import { copyButton } from "../copy.ts";
import { type Found, options } from "./search";

const box = document.querySelector("search")!;
const input = box.querySelector("input")!;
const found = box.querySelector<HTMLElement>("#found")!;
const count = box.querySelector<HTMLElement>("#count")!;
const index = new URL(box.dataset.index!, location.href);
const MOST = 12;

let loading: ReturnType<typeof load> | undefined;
let chosen = -1;

/** The index, fetched on the first search. */
async function load() {
  const response = await fetch(index);
  if (!response.ok) throw new Error(`the server answered with ${response.status}`);
  return MiniSearch.loadJSON(await response.text(), options);
}

function prepare() {
  loading ??= load();
  // The next keystroke tries again.
  loading.catch(() => (loading = undefined));
  return loading;
}

async function search() {
  const typed = input.value.trim();
  let results: Found[] = [];
  let said = "";
  if (typed) {
    try {
      results = (await prepare()).search(typed).slice(0, MOST) as unknown as Found[];
      said = results.length ? `${results.length} found` : `No results for “${typed}”.`;
    } catch {
      said = "The search index couldn't be loaded. Are you online?";
    }
    if (input.value.trim() !== typed) return; // the visitor types faster than the index loads
  }
  found.replaceChildren(
    ...results.map(({ id, title, page }, i) => {
      const link = document.createElement("a");
      link.href = new URL(id, index).href;
      link.id = `found-${i}`;
      link.role = "option";
      link.tabIndex = -1;
      link.textContent = title;
      link.append(Object.assign(document.createElement("span"), { textContent: page }));
      return link;
    }),
  );
  count.textContent = said;
  count.classList.toggle("none", said !== "" && results.length === 0);
  show(results.length > 0);
  choose(results.length ? 0 : -1);
}

function show(open: boolean) {
  found.hidden = !open;
  input.setAttribute("aria-expanded", String(open));
}

/** Marks the result that Enter opens. */
function choose(which: number) {
  chosen = which;
  [...found.children].forEach((link, i) => link.setAttribute("aria-selected", String(i === which)));
  const link = found.children[which];
  if (link) input.setAttribute("aria-activedescendant", link.id);
  else input.removeAttribute("aria-activedescendant");
  link?.scrollIntoView({ block: "nearest" });
}

input.addEventListener("focus", () => void prepare().catch(() => {}));
input.addEventListener("input", () => void search());
input.addEventListener("keydown", (event) => {
  const { length } = found.children;
  if (event.key === "Enter" && !found.hidden) (found.children[chosen] as HTMLElement | undefined)?.click();
  else if (event.key === "Escape" && !found.hidden) show(false);
  else if (event.key === "ArrowDown" && length) choose((chosen + 1) % length);
  else if (event.key === "ArrowUp" && length) choose((chosen + length - 1) % length);
  else return;
  event.preventDefault();
});
found.addEventListener("click", () => show(false));
box.addEventListener("focusout", ({ relatedTarget }) => {
  if (!box.contains(relatedTarget as Node | null)) show(false);
});
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, textarea, select");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing) return;
  event.preventDefault();
  input.focus();
});
input.disabled = false;
// The browser may have restored what was typed.
if (input.value && input === document.activeElement) void search();

for (const code of document.querySelectorAll(".code")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.className = "copy";
  button.textContent = "Copy";
  copyButton(button, () => code.querySelector("code")!.textContent);
  code.append(button);
}

// The contents begin at the current page if that is far down.
const contents = document.querySelector("#contents")!;
const here = contents.querySelector<HTMLElement>("[aria-current]");
const below = here ? here.getBoundingClientRect().top - contents.getBoundingClientRect().top : 0;
if (below > contents.clientHeight / 2) contents.scrollTop = below - 64;
contents.addEventListener("click", ({ target }) => {
  if ((target as Element).closest("a") && contents.matches(":popover-open")) (contents as HTMLElement).hidePopover();
});
