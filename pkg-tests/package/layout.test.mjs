/**
 * The repository's layout: imports run one way, without cycles, in the crate, the tool and the package's JavaScript;
 * and the package's tests are in the right folders.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { LONGER } from "../../scripts/longer.mjs";
import { root } from "../../scripts/setup.mjs";

/** The texts of a folder's files, by their paths in it. */
function sources(folder, ending) {
  const names = readdirSync(`${root}/${folder}`, { recursive: true }).map((name) => name.replaceAll("\\", "/"));
  const files = names.filter((name) => name.endsWith(ending)).sort();
  return new Map(files.map((name) => [name, readFileSync(`${root}/${folder}/${name}`, "utf8")]));
}

/** What each TypeScript file imports, including types. */
function imports(files) {
  const path = (from, to) => posix.join(posix.dirname(from), to).replace(/\.js$/, ".ts");
  const found = ([name, text]) => [...text.matchAll(/\bfrom "(\.[^"]+)"/g)].map(([, to]) => path(name, to));
  return new Map([...files].map((file) => [file[0], found(file).filter((to) => files.has(to))]));
}

/** The paths that a `use` names, one for each name in braces. */
function paths(use) {
  const open = use.indexOf("{");
  if (open < 0) return [use.replace(/ as .*/, "")];
  const items = [""];
  let depth = 0;
  for (const c of use.slice(open + 1, use.lastIndexOf("}"))) {
    depth += { "{": 1, "}": -1 }[c] ?? 0;
    if (c === "," && depth === 0) items.push("");
    else items[items.length - 1] += c;
  }
  return items.filter((item) => item.trim()).flatMap((item) => paths(use.slice(0, open) + item.trim()));
}

/** The other files that each Rust file refers to. `mod` only declares a file. */
function uses(files) {
  const module = (name) =>
    name
      .replace(/(^|\/)(lib|mod)\.rs$|\.rs$/, "")
      .split("/")
      .filter(Boolean);
  const byModule = new Map([...files.keys()].map((name) => [module(name).join("::"), name]));
  const found = ([name, text]) => {
    const own = module(name);
    // Tests may use anything, and who may see an item isn't what it uses.
    const seen = text.replace(/\/\/.*/g, "").replace(/\bpub\(in [^)]+\)/g, "pub");
    const code = seen.replace(/\n#\[cfg\(test\)\]\nmod \w+ \{[\s\S]*/, "");
    const named = [...code.matchAll(/\buse ([^;]+);/g)].flatMap(([, use]) => paths(use.replace(/\s+/g, " ")));
    const spelled = [...code.matchAll(/(?<![\w:])\w+(?:::\w+)+/g)].map(([path]) => path);
    return [...named, ...spelled].flatMap((path) => {
      const parts = path.split("::").map((part) => part.trim());
      const at = { crate: [], super: own.slice(0, -1), self: own }[parts[0]]?.slice() ?? own.slice();
      if (["crate", "super", "self"].includes(parts[0])) parts.shift();
      else if (!byModule.has([...own, parts[0]].join("::"))) return [];
      for (; parts[0] === "super"; parts.shift()) at.pop();
      while (byModule.has([...at, parts[0]].join("::"))) at.push(parts.shift());
      const to = byModule.get(at.join("::"));
      return to && to !== name ? [to] : [];
    });
  };
  return new Map([...files].map((file) => [file[0], [...new Set(found(file))]]));
}

/** A chain of files in which each imports the next, and the last one the first. */
function cycle(graph) {
  const done = new Set();
  const search = (name, row) => {
    if (row.includes(name)) return [...row.slice(row.indexOf(name)), name];
    if (done.has(name)) return undefined;
    for (const to of graph.get(name)) {
      const found = search(to, [...row, name]);
      if (found) return found;
    }
    done.add(name);
  };
  for (const name of graph.keys()) {
    const found = search(name, []);
    if (found) return found.join(" -> ");
  }
}

for (const [folder, ending, read, least] of [
  ["src", ".rs", uses, 150],
  ["cli/src", ".rs", uses, 50],
  ["js", ".ts", imports, 80],
]) {
  test(`no cycle among the files of ${folder}`, () => {
    const graph = read(sources(folder, ending));
    const arrows = [...graph.values()].flat().length;
    assert.ok(arrows > least, `only ${arrows} imports were found`);
    assert.equal(cycle(graph), undefined);
  });
}

test("a cycle is found, however it is written", () => {
  const rust = (...files) => cycle(uses(new Map(files)));
  assert.equal(rust(["lib.rs", "mod a;\nmod b;"], ["a.rs", "use crate::b::B;"], ["b.rs", ""]), undefined);
  for (const use of [
    "use crate::{b::{self, B}, c};",
    "use super::b;",
    "fn f() { super::b::f() }",
    "pub(in super::c) use crate::b::B;",
    "pub use crate::b::*;",
  ])
    assert.equal(
      rust(["lib.rs", ""], ["a.rs", use], ["b.rs", "use crate::a::A;"], ["c.rs", ""]),
      "a.rs -> b.rs -> a.rs",
    );
  assert.equal(rust(["lib.rs", "mod a;\npub use a::A;"], ["a.rs", "use super::B;"]), "lib.rs -> a.rs -> lib.rs");
  assert.equal(
    rust(["a/mod.rs", "fn f() { b::f() }"], ["a/b.rs", "use crate::a::A;"], ["lib.rs", ""]),
    "a/mod.rs -> a/b.rs -> a/mod.rs",
  );
  const script = (...files) => cycle(imports(new Map(files)));
  assert.equal(
    script(["a.ts", 'import { b } from "./b.js";'], ["b.ts", 'import type { A } from "./a.js";']),
    "a.ts -> b.ts -> a.ts",
  );
});

test("a file of tests has at most 900 lines, and one of the package is in the folder of its subject", () => {
  const tests = sources("pkg-tests", ".mjs");
  assert.ok(tests.size > 100);
  const others = [sources("tests", ".rs"), sources("tests", ".py"), sources("cli/tests", ".rs")];
  for (const [name, text] of [tests, ...others].flatMap((files) => [...files]))
    assert.ok(text.split("\n").length <= 901, name);
  const readme = readFileSync(`${root}/tests/README.md`, "utf8");
  for (const name of tests.keys()) {
    assert.ok(readme.includes(`${name.split("/")[0]}/`), `${name}: tests/README.md doesn't name its folder`);
  }
});

test("each form of the crates' tests names a test, otherwise it would run nothing", () => {
  const tests = [...sources("tests/suite", ".rs"), ...sources("cli/tests/suite", ".rs")].flatMap(([name, text]) => {
    const module = name.replace(/\.rs$/, "").replaceAll("/", "::");
    return [...text.matchAll(/^ *fn (\w+)/gm)].map(([, test]) => `${module}::${test}`);
  });
  const runner = readFileSync(`${root}/scripts/test.mjs`, "utf8");
  const names = runner.match(/(?<=[ "])[a-z_]+::\w*(?=[ "])/g);
  assert.ok(tests.length > 300 && names.length > 5, `${tests.length} tests, ${names}`);
  for (const name of names)
    assert.ok(
      tests.some((test) => test.includes(name)),
      name,
    );
});

test("each longer form names a test in each of its files, otherwise it would run nothing", () => {
  const tests = sources("pkg-tests", ".mjs");
  for (const { folder, files, names } of LONGER) {
    const texts = files.map((name) => tests.get(`${folder}/${name}.test.mjs`) ?? assert.fail(`${folder}/${name}`));
    const titles = texts.map((text) =>
      [...text.matchAll(/\btest(?:Each)?\(\s*["`](.*?)["`],/gs)].map(([, title]) => title),
    );
    for (const name of names)
      assert.ok(
        titles.flat().some((title) => title.includes(name)),
        name,
      );
    titles.forEach((own, at) => {
      assert.ok(
        names.some((name) => own.some((title) => title.includes(name))),
        `${folder}/${files[at]}`,
      );
    });
  }
});

test("each mutant can be made: its code is there once, and its test exists", async () => {
  let count = 0;
  for (const list of readdirSync(`${root}/tests/mutants`)) {
    const { suite, mutants } = (await import(`../../tests/mutants/${list}`)).default;
    count += mutants.length;
    for (const { file, from, test } of mutants) {
      assert.equal(readFileSync(`${root}/${file}`, "utf8").split(from).length, 2, `${list}: ${file}: ${from}`);
      if (suite === "package" || suite === "site")
        for (const name of test.split(" ")) assert.ok(existsSync(`${root}/pkg-tests/${name}.test.mjs`), name);
    }
  }
  assert.ok(count > 600, `${count} mutants`);
});
