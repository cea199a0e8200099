/** Modules of Node, where the runtime has them: Node, Deno, Bun. */

/**
 * A module such as `node:fs`, or undefined where there is none. It is no import, because bundlers for browsers would fail
 * on that. The edge runtime of Next.js throws when it is asked, which says the same.
 */
export const builtin = ((name: string) => {
  try {
    return globalThis.process?.getBuiltinModule?.(name);
  } catch {
    return undefined;
  }
}) as typeof process.getBuiltinModule;
