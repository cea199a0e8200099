/** Finds the programs in the pages of docs/, and runs them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { root } from "../../scripts/setup.mjs";
import { nativeTool } from "../helpers/built.mjs";

/** A page's text, and the code of each of its sections: by the section's title, then by language, in order. */
export function page(name) {
  const text = readFileSync(join(root, "docs", name), "utf8");
  const code = {};
  for (const [, title, body] of text.matchAll(/^## (.*)\n([\s\S]*?)(?=^## |$(?![\s\S]))/gm)) {
    code[title] = {};
    for (const [, language, snippet] of body.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm))
      (code[title][language] ??= []).push(snippet);
  }
  return { text, code };
}

const PATH = [dirname(nativeTool()), process.env.PATH].join(delimiter);

/** The output of a program. */
export function prints(program, args, options = {}) {
  return execFileSync(program, args.map(String), {
    encoding: "utf8",
    maxBuffer: 2 ** 30,
    ...options,
    env: { ...process.env, PATH, ...options.env },
  });
}

/**
 * Runs shell commands with the tool on the PATH. `npx bloom-wasm` is the native one: tool/npx.long.test.mjs compares
 * them.
 */
export const shell = (lines, cwd, env) =>
  prints("sh", ["-e", "-c", `npx() { shift; bloom-wasm "$@"; }\n${lines}`], { cwd, env });
