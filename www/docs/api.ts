/** The reference of the package's entries, by TypeDoc from the published types: each name is a page of Markdown. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  Application,
  Comment,
  type DeclarationReflection,
  type ProjectReflection,
  type ReferenceReflection,
} from "typedoc";
import { MarkdownTheme, MarkdownThemeContext } from "typedoc-plugin-markdown";
import ts from "typescript";

/** A page: where its links start from, the name that it explains, and what that is, such as "Class". */
export interface ApiPage {
  path: string;
  name: string;
  kind: string;
  markdown: string;
}

type Named = ApiPage & { entry: string };

const root = fileURLToPath(new URL("../../", import.meta.url));
const ENTRIES = [
  {
    file: "index.d.ts",
    name: "bloom-wasm",
    introduction:
      "Everything that `bloom-wasm` exports: loading, asking, building and changing filters, and the formulas.",
  },
  {
    file: "reader.d.ts",
    name: "bloom-wasm/reader",
    introduction:
      "What `bloom-wasm/reader` exports: loading and asking filters, feeds and sharded filters, in plain JavaScript.",
  },
];
const KINDS: Record<string, string> = {
  classes: "Class",
  functions: "Function",
  interfaces: "Interface",
  "type-aliases": "Type",
  variables: "Constant",
};

/** What TypeDoc says of a function or method, without what the signature has already said. */
class Context extends MarkdownThemeContext {
  constructor(...args: ConstructorParameters<typeof MarkdownThemeContext>) {
    super(...args);
    const { partials, helpers } = this;
    this.partials = {
      ...partials,
      inheritance: () => "",
      hierarchy: () => "",
      accessor: (model) =>
        [model.getSignature, model.setSignature]
          .filter((signature) => signature !== undefined)
          .map((signature) => {
            const accessor = signature === model.getSignature ? "get" : "set";
            return this.partials.signature(signature, { headingLevel: 4, accessor });
          })
          .join("\n\n"),
      signature: (model, options) => {
        const about = options.multipleSignatures ? model.comment : (model.comment ?? model.parent?.comment);
        const told = (showSummary: boolean) =>
          about
            ? partials.comment(about, { headingLevel: options.headingLevel, showSummary, showTags: !showSummary })
            : "";
        const parameters = model.parameters?.filter(({ comment, type }) => comment ?? linked(this, type));
        const returns = model.type && linked(this, model.type) ? `Returns ${helpers.getReturnType(model.type)}.` : "";
        return [
          options.hideTitle ? "" : partials.signatureTitle(model, { accessor: options.accessor }),
          told(true),
          parameters?.length ? partials.parametersTable(model.parameters!) : "",
          returns,
          told(false),
        ].join("\n\n");
      },
    };
  }
}

/** Whether a type is one of ours, so that its name leads to a page. */
const linked = (context: MarkdownThemeContext, type: Parameters<MarkdownThemeContext["partials"]["someType"]>[0]) =>
  type !== undefined && context.partials.someType(type).includes("](");

class Theme extends MarkdownTheme {
  override getRenderContext(page: Parameters<MarkdownTheme["getRenderContext"]>[0]) {
    return new Context(this, page, this.application.options);
  }
}

/** The first sentence about something. */
function summary(of: DeclarationReflection): string {
  const target = of.isReference()
    ? ((of as ReferenceReflection).getTargetReflectionDeep() as DeclarationReflection)
    : of;
  const comment = target.comment ?? target.signatures?.[0]?.comment;
  const text = Comment.combineDisplayParts(comment?.summary).replace(/\{@link (.*?)\}/g, "`$1`");
  return text
    .replace(/\s+/g, " ")
    .replace(/([.:]) [A-Z].*/, "$1")
    .replaceAll("|", "\\|");
}

/** The published types, by file. An entry's first comment gets the tag by which TypeDoc knows it as the module's. */
function publishedTypes(): Map<string, string> {
  const files = readdirSync(join(root, "dist"), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".d.ts"),
  );
  return new Map(
    files.map((file) => {
      const name = ENTRIES.find((entry) => entry.file === file)?.name;
      const text = readFileSync(join(root, "dist", file), "utf8");
      return [file, name ? text.replace(/^\/\*\* .*? \*\//, `/** @module ${name} */`) : text];
    }),
  );
}

/** A type as it is declared, after the types that it names and that aren't exported: TypeDoc would only name those. */
function declaration(types: Map<string, string>, name: string): string {
  for (const [file, text] of types) {
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
    const all = source.statements.filter((it) => ts.isTypeAliasDeclaration(it) || ts.isInterfaceDeclaration(it));
    const isExported = ({ modifiers }: (typeof all)[0]) =>
      modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
    const own = all.find((it) => isExported(it) && it.name.text === name);
    if (!own) continue;
    const shown = new Set([own]);
    for (const it of shown) {
      const words = new Set(it.getText(source).match(/\w+/g));
      for (const other of all) if (!isExported(other) && words.has(other.name.text)) shown.add(other);
    }
    return [...shown]
      .reverse()
      .map((it) => (it === own ? it.getText(source) : it.getFullText(source).trim()))
      .join("\n\n")
      .replace(/^ +/gm, (indent) => indent.slice(indent.length / 2));
  }
  throw new Error(`the types in dist/ have no ${name}`);
}

/** All pages of the reference: an overview of each entry, then one for each of its names. */
export async function api(): Promise<ApiPage[]> {
  const folder = mkdtempSync(join(tmpdir(), "bloom-wasm-api-"));
  try {
    const types = join(folder, "types");
    const out = join(folder, "out");
    const tsconfig = join(folder, "tsconfig.json");
    const published = publishedTypes();
    for (const [file, text] of published) {
      mkdirSync(dirname(join(types, file)), { recursive: true });
      writeFileSync(join(types, file), text);
    }
    const entryPoints = ENTRIES.map(({ file }) => join(types, file));
    const lib = ["es2022", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"];
    const compilerOptions = { module: "nodenext", target: "es2022", lib, types: [], strict: true };
    writeFileSync(tsconfig, JSON.stringify({ compilerOptions, files: entryPoints }));
    const options = {
      tsconfig,
      entryPoints,
      plugin: [fileURLToPath(import.meta.resolve("typedoc-plugin-markdown"))],
      outputs: [{ name: "markdown", path: out }],
      theme: "ours",
      logLevel: "Warn" as const,
      name: "bloom-wasm",
      readme: "none",
      disableSources: true,
      excludePrivate: true,
      sort: ["static-first" as const, "source-order" as const],
      // Of the plugin:
      entryFileName: "index",
      expandObjects: true,
      expandParameters: true,
      hideBreadcrumbs: true,
      hidePageHeader: true,
      parametersFormat: "table",
      interfacePropertiesFormat: "table",
      propertyMembersFormat: "table",
      typeDeclarationFormat: "table",
      tableColumnSettings: { hideInherited: true, hideOverrides: true, hideSources: true },
      useCodeBlocks: true,
    };
    const app = await Application.bootstrapWithPlugins(options);
    app.renderer.defineTheme("ours", Theme);
    const project = await app.convert();
    if (project) await app.generateOutputs(project);
    if (!project || app.logger.hasErrors() || app.logger.hasWarnings())
      throw new Error("TypeDoc could not make the reference of the types in dist/");

    const named = readdirSync(out, { recursive: true, encoding: "utf8" })
      .map((file) => ({ file, folder: basename(dirname(file)), entry: dirname(dirname(file)) }))
      .filter(({ folder }) => folder in KINDS)
      .map(({ file, folder, entry }) => {
        const [name, kind] = [basename(file, ".md"), KINDS[folder]!];
        let markdown = readFileSync(join(out, file), "utf8")
          .replace(/^# [\w ]+: (\w+(\(\))?).*/, "# $1") // the name alone, of "Abstract Class: Filter<K>"
          .replace(/^\*\*\*$/gm, "");
        if (kind === "Type")
          markdown = markdown
            .replace(/```ts\n.*?```/s, () => `\`\`\`ts\n${declaration(published, name)}\n\`\`\``)
            .replace(/\n## Type Declaration\n.*/s, "");
        return { path: `api/${file}`, entry, name, kind, markdown };
      });
    return [...ENTRIES.map((entry) => overview(entry, project, named)), ...named];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The page of an entry: a table of the names of each kind. */
function overview({ name, introduction }: (typeof ENTRIES)[0], project: ProjectReflection, named: Named[]): ApiPage {
  const module = project.children!.find((module) => module.name === name)!;
  const rows = module.children!.map((child) => {
    const pages = named.filter((page) => page.name === child.name);
    const { path, kind } = pages.find(({ entry }) => entry === name) ?? pages[0]!;
    return { kind, row: `| [\`${child.name}\`](/${path}) | ${summary(child)} |` };
  });
  const sections = Object.values(KINDS)
    .map((kind) => [kind, rows.filter((row) => row.kind === kind).map(({ row }) => row)] as const)
    .filter(([, rows]) => rows.length > 0)
    .map(([kind, rows]) => [
      `## ${kind}${kind.endsWith("s") ? "es" : "s"}\n`,
      "| name | what |",
      "| --- | --- |",
      ...rows,
    ])
    .map((lines) => lines.join("\n"));
  const markdown = [`# ${name}`, introduction, ...sections].join("\n\n");
  return { path: `api/${name}/index.md`, name, kind: "Entry", markdown };
}
