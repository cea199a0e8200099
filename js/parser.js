/** The runtime's URL parser. JavaScript, not TypeScript, because Rust calls it too (src/wasm/runtime.rs). */

/** Whether it has passed a test: React Native's only joins strings. */
let isParser = false;

/**
 * The URL as the parser writes it; undefined if it refuses the text. An object if there is no parser, or it fails in a
 * way that says nothing about the text: the cause, if there is one.
 *
 * @param {string} text
 * @returns {string | undefined | { cause?: unknown }}
 */
export function parseUrl(text) {
  try {
    isParser ||= new URL("http://\uff22\xfc.a:80/..").href === "http://xn--b-eha.a/";
    const href = isParser && new URL(text).href;
    return typeof href === "string" ? href : {};
  } catch (cause) {
    // By its name, because another realm has another class; Firefox's has a name of its own.
    const { name } = Object(cause);
    // The stack ran out within the parser.
    if (["RangeError", "InternalError"].includes(name)) throw cause;
    return isParser && name === "TypeError" ? undefined : { cause };
  }
}
