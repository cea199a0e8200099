/** A cache in files, for runtimes that have them. */

import { builtin } from "../boundary/builtin.js";
import { invalidParameter } from "../boundary/input.js";
import { FilterError } from "../error.js";
import type { FeedCache } from "./cache.js";

/** From this age on, in milliseconds, a half-written file counts as left by a killed program. */
const LEFT = 3_600_000;

/**
 * Keeps feeds and sharded filters in a folder, in Node, Deno and Bun: pass it as the option `cache` of `openFeed` and
 * `openSharded`. The folder, a path or a `file:` URL, is made when something is stored. A file appears under its name
 * only once it is complete. Several programs may share a folder. Throws `cache` in a runtime without files.
 */
export function fileCache(folder: string | URL): FeedCache {
  const fs = builtin("node:fs")?.promises;
  const path = builtin("node:path");
  const url = builtin("node:url");
  if (!fs || !path || !url) throw new FilterError("cache", "fileCache needs a runtime with files: Node, Deno or Bun");
  const { href = folder } = Object(folder) as { href?: unknown };
  if (typeof href !== "string" || href === "") throw invalidParameter("folder must be a path or a file: URL");
  const isUrl = href !== folder || /^file:/i.test(href);
  if (isUrl && !/^file:/i.test(href)) throw invalidParameter(`folder must be a path or a file: URL, not ${href}`);
  // Absolute, because the program may change its working directory later.
  const home = path.resolve(isUrl ? url.fileURLToPath(href) : href);

  const at = (name: string) => {
    if (!/^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(name)) throw new FilterError("cache", `${name} is no name for a cache`);
    return path.join(home, name);
  };

  /** The result of a file operation; undefined if the file isn't there. */
  async function ifThere<T>(asked: Promise<T>): Promise<T | undefined> {
    try {
      return await asked;
    } catch (error) {
      if (Object(error).code === "ENOENT") return undefined;
      throw error;
    }
  }

  /**
   * Removes what killed programs have left of such files, and nothing else: the folder may have others' files. A failure
   * is tried again later, and holds nothing up.
   */
  async function tidy(): Promise<void> {
    for (const name of await fs!.readdir(home)) {
      if (!/^[a-z]+-[0-9a-f]{64}\.[0-9a-f-]{36}\.tmp$/.test(name)) continue;
      const half = path!.join(home, name);
      // Another program may remove it, too.
      const found = await ifThere(fs!.stat(half));
      if (found && Date.now() - found.mtimeMs > LEFT) await fs!.rm(half, { force: true });
    }
  }
  let tidying: Promise<void> | undefined;

  return {
    async get(name) {
      const bytes = await ifThere(fs.readFile(at(name)));
      return bytes && new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    },
    async put(name, bytes) {
      const whole = at(name);
      await fs.mkdir(home, { recursive: true });
      await (tidying ??= tidy().catch(() => {
        tidying = undefined;
      }));
      const half = `${whole}.${crypto.randomUUID()}.tmp`;
      try {
        // On the disk first: after a power cut, a renamed file could otherwise be empty.
        await fs.writeFile(half, bytes, { flush: true });
        await fs.rename(half, whole);
      } catch (error) {
        await fs.rm(half, { force: true });
        throw error;
      }
    },
    async delete(name) {
      await fs.rm(at(name), { force: true });
    },
  };
}
