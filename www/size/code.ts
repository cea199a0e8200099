/** The code that makes a filter, in JavaScript and for the command line. */
import type { Kind } from "./formulas.ts";

export interface Plan {
  kind: Kind;
  count: number;
  fpr: number;
  profile: "raw" | "url";
}

const classes: Record<Kind, string> = {
  ribbon: "RibbonFilter",
  cuckoo: "CuckooFilter",
  bloom: "BloomFilter",
  scalable: "ScalableBloomFilter",
  counting: "CountingBloomFilter",
};

const plain = (count: number) => String(count).replace(/\B(?=(\d{3})+$)/g, "_");

export function code({ kind, count, fpr, profile }: Plan): string {
  const name = classes[kind];
  const keys = profile === "url" ? "urls" : "keys";
  const options = profile === "url" ? `{ profile: "url", fpr: ${fpr} }` : `{ fpr: ${fpr} }`;
  const lines = [`import { ${name} } from "bloom-wasm";`, "", `const filter = ${name}.from(${keys}, ${options});`];
  if (kind === "scalable" && profile === "raw")
    lines.push("", "// or empty:", `const empty = new ${name}(${options});`);
  else if (kind !== "ribbon" && profile === "raw")
    lines.push(
      "",
      "// or empty, with room for these keys:",
      `const empty = ${name}.withCapacity(${plain(count)}, ${fpr});`,
    );
  return lines.join("\n");
}

export function tool({ kind, fpr, profile }: Plan): string {
  const list = profile === "url" ? "urls" : "keys";
  const build = [`npx bloom-wasm build ${list}.txt -o ${list}.bloom --fpr ${fpr}`];
  if (kind !== "ribbon") build.push(`--kind ${kind}`);
  if (profile === "url") build.push("--profile url");
  return build.join(" ");
}
