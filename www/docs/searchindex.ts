/** The index of the search: the sections of all pages, the names of the API, and those of the crate. */
import { readdirSync } from "node:fs";
import { posix } from "node:path";
import MiniSearch from "minisearch";
import { type Section, sections } from "./markdown.js";
import type { Page } from "./pages.js";
import { options } from "./search.js";

/** The names in rustdoc's pages, so that the search finds them. */
function rustNames(doc: string) {
  return readdirSync(posix.join(doc, "bloom_wasm"), { recursive: true, encoding: "utf8" }).flatMap((path) => {
    const url = path.replaceAll("\\", "/");
    const [, kind, name] = /(?:^|\/)(struct|enum|trait|fn|constant|type|macro)\.(\w+)\.html$/.exec(url) ?? [];
    if (!kind) return [];
    const module = posix.join("bloom_wasm", posix.dirname(url)).replaceAll("/", "::");
    return [{ id: `rust/bloom_wasm/${url}`, title: name!, page: `${kind} of ${module}`, text: "Rust crate" }];
  });
}

/** The index as JSON, of the pages and of what rustdoc has written into a folder. */
export function searchIndex(pages: Page[], doc: string): string {
  const isClass = (page: Page) => page.url.startsWith("api/classes/");
  const inherited = sections(pages.find(({ url }) => url === "api/classes/Filter.html")!.tokens);
  const isInherited = (page: Page, { title, text }: Section) =>
    isClass(page) && page.title !== "Filter" && inherited.some((it) => it.title === title && it.text === text);

  const entries = pages.flatMap((page) => {
    const address = page.url.replace(/index\.html$/, "");
    const [first, ...parts] = sections(page.tokens);
    const top = { id: address, title: first!.title, page: page.kind ?? page.group, text: first!.text };
    // Who looks for a name of the API doesn't look for the heading "Properties" below it.
    if (page.source.startsWith("api/") && !isClass(page))
      return { ...top, text: [first!, ...parts].map(({ text }) => text).join(" ") };
    const own = parts.filter((part) => !isInherited(page, part));
    return [top, ...own.map(({ id, title, text }) => ({ id: `${address}#${id}`, title, page: page.title, text }))];
  });
  const index = new MiniSearch(options);
  index.addAll([...entries, ...rustNames(doc)]);
  return JSON.stringify(index);
}
