/** What the kinds in See have in common: what the visitor can do with one, and how the page tells what happened. */
import { find } from "../page.ts";

/** A kind of filter as the page shows it. */
export interface Shown {
  /** Whether it has no words. */
  isEmpty(): boolean;
  restart(): void;
  add(word: string): void;
  addTen(): void;
  check(word: string): void;
  checkAll(): void;
  findFalsePositive(): void;
}

/** The most words that are tried for a false positive. */
export const MOST_TRIES = 200_000;

const verdict = find("#verdict");
const meaning = find("#meaning");

/** Says what happened, what it means, and line by line why. */
export function tell(kind: "" | "maybe" | "not", says: string, means: string, lines: string[] = []) {
  verdict.className = kind;
  verdict.textContent = says;
  meaning.textContent = means;
  fillList("#probes", lines);
}

/** Adds a sentence to the meaning. */
export const tellMore = (sentence: string) => meaning.append(` ${sentence}`);

export function fillList(selector: string, lines: string[]) {
  const items = lines.map((line) => Object.assign(document.createElement("li"), { textContent: line }));
  find(selector).replaceChildren(...items);
}

/** The numbers in the fields of a shape. */
export const chosen = (...selectors: string[]) =>
  selectors.map((selector) => Number(find<HTMLSelectElement>(selector).value));

const joined = new Intl.ListFormat("en");
export const list = (texts: string[]) => joined.format(texts);
export const quoted = (word: string) => `“${word}”`;
