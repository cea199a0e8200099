/** From Markdown to HTML: headings with the ids that GitHub gives them, coloured code, and tables that scroll. */
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini"; // and TOML
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import scala from "highlight.js/lib/languages/scala";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import MarkdownIt from "markdown-it";

const languages = { bash, go, ini, java, javascript, json, python, rust, scala, typescript, xml, yaml };
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);

const md = new MarkdownIt({ html: true });
export type Token = ReturnType<typeof md.parse>[0];

/** A heading, and the text up to the next one. */
export interface Section {
  level: number;
  id: string;
  title: string;
  text: string;
}

/** The words of an inline token. */
const plain = (inline: Token) =>
  (inline.children ?? []).map(({ type, content }) => (/^(text|code_inline)$/.test(type) ? content : " ")).join("");

/** The tokens of a file. Each heading has its id. */
export function parse(text: string): Token[] {
  const tokens = md.parse(text, {});
  const seen = new Map<string, number>();
  tokens.forEach((token, i) => {
    if (token.type !== "heading_open") return;
    const id = plain(tokens[i + 1]!)
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-");
    const before = seen.get(id) ?? 0;
    seen.set(id, before + 1);
    token.attrSet("id", before ? `${id}-${before}` : id);
  });
  return tokens;
}

/** All ids that links can lead to: those of headings, and those in HTML. */
export function ids(tokens: Token[]): string[] {
  return tokens.flatMap((token) => {
    const own = token.type === "heading_open" ? [String(token.attrGet("id"))] : [];
    const html = /^html/.test(token.type) ? [...token.content.matchAll(/ id="(.*?)"/g)].map(([, id]) => id!) : [];
    return [...own, ...html, ...ids(token.children ?? [])];
  });
}

/** Gives each link another target, and another text if it has one. */
export function relink(tokens: Token[], target: (href: string, text: string) => { href: string; text?: string }) {
  tokens.forEach((token, i) => {
    relink(token.children ?? [], target);
    if (token.type !== "link_open") return;
    const words = tokens[i + 1]!;
    const { href, text } = target(String(token.attrGet("href")), words.content);
    token.attrSet("href", href);
    if (text) words.content = text;
  });
}

/** The sections of a page. */
export function sections(tokens: Token[]): Section[] {
  const found: Section[] = [];
  let last: Token | undefined;
  for (const token of tokens) {
    if (last?.type === "heading_open")
      found.push({ level: Number(last.tag[1]), id: String(last.attrGet("id")), title: plain(token), text: "" });
    else if (found.length > 0 && token.type === "inline") found.at(-1)!.text += `${plain(token)} `;
    else if (found.length > 0 && token.type === "fence") found.at(-1)!.text += `${token.content} `;
    last = token;
  }
  return found;
}

/** The HTML of a page. */
export const render = (tokens: Token[]) => md.renderer.render(tokens, md.options, {});

const rules = md.renderer.rules;

rules.fence = (tokens, i) => {
  const { content, info } = tokens[i]!;
  const code = hljs.getLanguage(info)
    ? hljs.highlight(content, { language: info }).value
    : md.utils.escapeHtml(content);
  // It scrolls, so the keyboard must reach it.
  return `<div class="code"><pre tabindex="0"><code>${code}</code></pre></div>\n`;
};

rules.code_block = rules.fence;

rules.code_inline = (tokens, i) => {
  const { content } = tokens[i]!;
  return `<code${content.length < 24 ? ' class="short"' : ""}>${md.utils.escapeHtml(content)}</code>`;
};

rules.heading_open = (tokens, i, options, _env, self) => {
  const link = tokens[i + 1]!.children!.some(({ type }) => type === "link_open");
  const open = self.renderToken(tokens, i, options).trimEnd();
  return link ? open : `${open}<a href="#${tokens[i]!.attrGet("id")}">`;
};
rules.heading_close = (tokens, i, options, _env, self) => {
  const link = tokens[i - 1]!.children!.some(({ type }) => type === "link_open");
  return `${link ? "" : "</a>"}${self.renderToken(tokens, i, options)}`;
};

rules.table_open = (tokens, i) => {
  let heading = i;
  while (heading > 0 && tokens[heading]!.type !== "heading_open") heading--;
  const label = `Table: ${plain(tokens[heading + 1]!)}`;
  return `<div class="scroll" tabindex="0" role="group" aria-label="${md.utils.escapeHtml(label)}"><table>\n`;
};
rules.table_close = () => "</table></div>\n";
