/** Which pages the docs have. Their text is the repository's own Markdown, and what TypeDoc makes of the types. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { posix } from "node:path";
import { type ApiPage, api } from "./api.js";
import { ids, parse, relink, type Token } from "./markdown.js";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");

/** Files that are a page each, by groups of the navigation. */
const FILES: Record<string, Record<string, string>> = {
  Goals: {
    "README.md": "Get started",
    "docs/block-pages.md": "Block pages",
    "docs/screen-links.md": "Screen links",
    "docs/refuse-passwords.md": "Refuse passwords",
    "docs/skip-what-was-seen.md": "Skip what was seen",
    "docs/publish-a-list.md": "Publish a list",
    "docs/bring-a-filter.md": "Bring a filter along",
  },
  Reference: {
    "docs/tool.md": "The tool",
    "docs/javascript.md": "In JavaScript",
    "docs/lists.md": "URLs and passwords",
    "docs/errors.md": "Errors",
    "docs/hosting.md": "Feeds in operation",
    "docs/keyed.md": "Keyed filters",
    "docs/edge.md": "Workers and edge",
    "docs/benchmarks.md": "Benchmarks",
    "FORMAT.md": "The blob's format",
    "FORMAT-URLS.md": "The keys of a URL",
    "FORMAT-FOREIGN.md": "Filters of other software",
    "FEED-FORMAT.md": "The format of feeds",
  },
  Examples: {
    "examples/lists/README.md": "Public lists as a feed",
    "examples/extension/README.md": "Browser extension",
    "examples/signup/README.md": "Signup form",
    "examples/worker/README.md": "Cloudflare Worker",
    "examples/spark/README.md": "Spark",
    "examples/wasm-pack/README.md": "With wasm-pack alone",
  },
  Project: {
    "SECURITY.md": "Security",
    "CONTRIBUTING.md": "Contributing",
    "CHANGELOG.md": "Changes",
  },
};

export interface Page {
  /** Where it is below docs/. */
  url: string;
  group: string;
  /** Its name in the navigation. */
  title: string;
  /** What it describes, on a page of the API. */
  kind?: string;
  /** The file that it is made of, from which its links start. */
  source: string;
  tokens: Token[];
}

/** `README.md` is the first page, `examples/worker/README.md` is at `worker.html`, and `FORMAT.md` at `format.html`. */
function fileUrl(path: string) {
  if (path === "README.md") return "index.html";
  // There is docs/lists.md, too.
  if (path === "examples/lists/README.md") return "public-lists.html";
  return `${posix.basename(path.replace("/README", ""), ".md").toLowerCase()}.html`;
}

/** `api/bloom-wasm/classes/Filter.md` is at `api/classes/Filter.html`. */
function apiPage({ path, name, kind, markdown }: ApiPage): Page {
  const url = path.replace("/bloom-wasm/", "/").replace(".md", ".html");
  const title = kind !== "Entry" && url.startsWith("api/reader/") ? `${name} of the reader` : name;
  const group = kind === "Entry" ? "Reference" : "All names";
  return { url, group, title, kind, source: path, tokens: parse(markdown) };
}

/** All pages, in the order of the navigation. */
async function all(): Promise<Page[]> {
  const files = (group: string) =>
    Object.entries(FILES[group]!).map(([source, title]) => {
      return { url: fileUrl(source), group, title, source, tokens: parse(read(source)) };
    });
  const reference = (await api()).map(apiPage);
  const entries = reference.filter(({ group }) => group === "Reference");
  const names = reference.filter(({ group }) => group === "All names");
  names.sort((a, b) => a.title.localeCompare(b.title, "en"));
  return [...files("Goals"), ...files("Reference"), ...entries, ...files("Examples"), ...files("Project"), ...names];
}

/** The way from one page to another. */
export const relative = (from: string, to: string) => {
  const path = posix.relative(posix.dirname(from), to.replace(/(^|\/)index\.html$/, "$1."));
  return to.endsWith("index.html") ? `${path || "."}/` : path;
};

/** Points the links of all pages to pages. Returns the files that links lead to and that aren't pages. */
function link(pages: Page[]): Set<string> {
  const anchors = new Map(pages.map((page) => [page, new Set(ids(page.tokens))]));
  const files = new Set<string>();
  for (const page of pages) {
    relink(page.tokens, (href, text) => {
      if (/^[a-z]+:/.test(href)) return { href };
      const [, path = "", id] = /^([^#]*)#?(.*)$/.exec(decodeURI(href))!;
      const dead = () => new Error(`${page.source}: the link to ${href} is dead`);
      // A slash at the beginning is the repository's.
      const from = path.startsWith("/") ? "" : posix.dirname(page.source);
      const source = path ? posix.join(from, path).replace(/^\/|\/$/g, "") : page.source;
      const candidates = pages.filter((other) => other.source === source || other.source === `${source}/README.md`);
      if (candidates.length === 0) {
        if (id || !existsSync(new URL(source, root)) || !statSync(new URL(source, root)).isFile()) throw dead();
        files.add(source);
        return { href: relative(page.url, `files/${source}`) };
      }
      const there = id ? candidates.find((other) => anchors.get(other)!.has(id)) : candidates[0];
      if (!there) throw dead();
      if (there === page) return { href: id ? `#${id}` : "" };
      // Readers of the site don't know the names of our files.
      const title = text === path ? { text: there.title } : {};
      return { href: `${relative(page.url, there.url)}${id ? `#${id}` : ""}`, ...title };
    });
  }
  return files;
}

/** All pages, and the files that they link to. */
export async function docs() {
  const pages = await all();
  return { pages, files: link(pages) };
}
