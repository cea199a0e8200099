/** What the search index holds of each part of a page, and how it splits words: for building it, and in the page. */
import type { Options } from "minisearch";

/** A part of a page: the heading, under which page, and where. */
export interface Found {
  id: string;
  title: string;
  page: string;
}

/** `hasUrl` is found as that, and by `has` and `url`. */
function words(term: string): string[] {
  const parts = term.split(/(?<=[a-z0-9])(?=[A-Z])|_/).filter(Boolean);
  return [...new Set([term, ...parts])].map((word) => word.toLowerCase());
}

export const options: Options<Found & { text: string }> = {
  fields: ["title", "page", "text"],
  storeFields: ["title", "page"],
  processTerm: words,
  searchOptions: {
    boost: { title: 5, page: 2 },
    prefix: true,
    fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    combineWith: "AND",
    // A word that is typed isn't split.
    processTerm: (term) => term.toLowerCase(),
  },
};
