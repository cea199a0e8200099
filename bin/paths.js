/**
 * Paths, as WASI and as the host write them. Each character stands for a byte, so that names that aren't UTF-8 survive.
 *
 * For WASI all files are in one folder, `/`. On Windows the drives are folders in it: `/C:/x`.
 */

/**
 * The host's path for one from WebAssembly, which has no leading slash.
 *
 * A relative path comes with the current folder before it. This removes it again: a user who may be in a folder may not
 * always reach it from `/`. So a path that is absolute only for Windows stays as it was given: `D:\x`.
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
 * WASI's path for one of the host.
 *
 * @param {string} path
 */
export function toWasi(path, windows = process.platform === "win32") {
  return windows ? path.replaceAll("\\", "/").replace(/^[a-z]:/i, "/$&") : path;
}
