/** Fails unless the tag (`node scripts/version.mjs v1.2.3`), both manifests and the changelog name the same version. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./setup.mjs";

const read = (name) => readFileSync(join(root, name), "utf8");
const tag = process.argv[2] ?? "";
const found = {
  "the tag": tag.replace(/^v/, ""),
  "package.json": JSON.parse(read("package.json")).version,
  "Cargo.toml": /^version = "(.*)"/m.exec(read("Cargo.toml"))[1],
  "cli/Cargo.toml": /^bloom-wasm = .*version = "=(.*?)"/m.exec(read("cli/Cargo.toml"))[1],
  "CHANGELOG.md": /^## (\d\S*)/m.exec(read("CHANGELOG.md"))?.[1],
};
for (const [where, version] of Object.entries(found)) console.log(`${where}: ${version ?? "no version"}`);
if (new Set(Object.values(found)).size > 1) {
  console.error("version: they differ");
  process.exit(1);
}
