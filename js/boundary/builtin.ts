/** Modules of Node, where the runtime has them: Node, Deno, Bun. */

/**
 * A module such as `node:fs`, or undefined where there is none. Not an import, because bundlers for browsers would fail
 * on it. Next.js's edge runtime throws instead of returning undefined.
 */
export const builtin = ((name: string) => {
  try {
    return globalThis.process?.getBuiltinModule?.(name);
  } catch {
    return undefined;
  }
}) as typeof process.getBuiltinModule;
