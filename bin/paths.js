/**
 * Paths, as WASI and as the host have them. All are bytes, one a character, so that names that aren't UTF-8 stay what
 * they are.
 *
 * For WASI all files are in one folder, `/`. On Windows the drives are folders in it: `/C:/x`.
 */

/**
 * What the host takes for a path from WebAssembly, which has no slash in front.
 *
 * A relative path comes with the current folder before it, and that is taken away again: who may be in a folder may not
 * always get to it from `/`. So what Windows takes for absolute, and WASI does not, stays as it was given: `D:\x`.
 *
 * @param {string} path
 * @param {string} folder The current folder, as `toWasi` gives it.
 */
export function toHost(path, folder, windows = process.platform === "win32") {
  const start = folder.endsWith("/") ? folder : `${folder}/`;
  if (`/${path}/`.startsWith(start)) return path.slice(start.length - 1).replace(/^\/+/, "") || ".";
  return windows && /^[a-z]:/i.test(path) ? path : `/${path}`;
}

/**
 * What WASI takes for a path of the host.
 *
 * @param {string} path
 */
export function toWasi(path, windows = process.platform === "win32") {
  return windows ? path.replaceAll("\\", "/").replace(/^[a-z]:/i, "/$&") : path;
}
