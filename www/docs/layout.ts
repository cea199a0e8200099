/** The HTML of a page: page.html with the navigation, the text, and links to the previous and the next page. */
import { readFileSync } from "node:fs";
import { render, type Section, sections } from "./markdown.js";
import { type Page, relative } from "./pages.js";

const template = readFileSync(new URL("page.html", import.meta.url), "utf8");

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]!);

/** The navigation of a page: all pages by group, and below its own name its parts. */
function navigation(pages: Page[], page: Page, parts: Section[]): string {
  const entry = (to: Page) => {
    const here = to === page;
    const below = parts.filter(({ level }) => level === 2 || (level === 3 && page.source.startsWith("api/")));
    const list = below.map(({ id, title }) => `<li><a href="#${id}">${escaped(title)}</a></li>`).join("");
    const current = here ? ' aria-current="page"' : "";
    const link = `<a href="${relative(page.url, to.url)}"${current}>${escaped(to.title)}</a>`;
    return `<li>${link}${here && list ? `<ul>${list}</ul>` : ""}</li>`;
  };
  const group = (name: string, more = "") => {
    const some = pages.filter(({ group }) => group === name);
    return `<ul>${some.map(entry).join("")}${more}</ul>`;
  };
  const rust = `<li><a href="${relative(page.url, "rust/bloom_wasm/index.html")}">The crate, by rustdoc</a></li>`;
  const open = page.group === "All names" ? " open" : "";
  const names = `<details${open}><summary>All names</summary>${group("All names")}</details>`;
  const groups = {
    Goals: group("Goals"),
    Reference: group("Reference", rust) + names,
    Examples: group("Examples"),
    Project: group("Project"),
  };
  return Object.entries(groups)
    .map(([name, list]) => `<h2>${name}</h2>${list}`)
    .join("\n");
}

/** The pages before and after this one, in the reference or in reading order. */
function neighbours(pages: Page[], page: Page): string {
  const row = pages.filter(({ group }) => (group === "All names") === (page.group === "All names"));
  const at = row.indexOf(page);
  const to = (other: Page | undefined, rel: string, words: string) =>
    other
      ? `<a rel="${rel}" href="${relative(page.url, other.url)}"><span>${words}</span> ${escaped(other.title)}</a>`
      : "<span></span>";
  return to(row[at - 1], "prev", "Previous") + to(row[at + 1], "next", "Next");
}

export function layout(pages: Page[], page: Page): string {
  const parts = sections(page.tokens);
  const description = parts[0]!.text
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 200)
    .replace(/\s\S*$/, "");
  const fill: Record<string, string> = {
    title: escaped(page.url === "index.html" ? "Docs" : page.title),
    description: escaped(description || page.title),
    navigation: navigation(pages, page, parts),
    content: render(page.tokens),
    neighbours: neighbours(pages, page),
    index: relative(page.url, "search.json"),
    section: page.kind ? "api" : "guide",
  };
  return template.replace(/\{\{(\w+)\}\}/g, (_, name) => fill[name]!);
}
