/** Screens requests: 403 if the URL in the JSON body or the Referer header is maybe on the list, otherwise 200. */
import { load } from "bloom-wasm/reader";
import bundled from "./filter.bloom"; // an ArrayBuffer, thanks to the rule in wrangler.jsonc

const MAX_BYTES = 10_000; // the longest body

let loading; // the promise of the filter, one for all requests of this isolate
let decoded = 0; // how often a filter was decoded in this isolate

export default {
  async fetch(request, env, context) {
    const urls = [request.headers.get("Referer") ?? ""];
    if (request.method === "POST") {
      const text = await textOf(request);
      if (text === undefined) return answer(413, { error: `the body has more than ${MAX_BYTES} bytes` });
      const url = urlOf(text);
      if (url === undefined)
        return answer(400, { error: 'the body must be JSON such as { "url": "https://example.com/" }' });
      urls.push(url);
    }
    let filter;
    try {
      filter = await filterOf(env, context);
    } catch (error) {
      console.error(error);
      return answer(503, { error: "the filter could not be loaded" });
    }
    for (const url of urls) {
      const key = filter.matchUrl(url);
      if (key !== null) return answer(403, { error: "maybe on the list", key });
    }
    return answer(200, { ok: true }); // or pass the request on: return fetch(request)
  },
};

/** The filter. The first request of an isolate loads it; if that fails, the next request tries again. */
function filterOf(env, context) {
  if (!loading) {
    loading = read(env);
    const settled = loading.catch(() => (loading = undefined));
    context.waitUntil(settled); // keeps loading for the other requests, even if this client disconnects
  }
  return loading;
}

/** Reads the filter from the binding FILTERS (a KV namespace or an R2 bucket) if there is one, else from the bundle. */
async function read({ FILTERS }) {
  const stored = await FILTERS?.get("filter.bloom", { type: "stream" });
  if (stored === null) throw new Error("FILTERS has no filter.bloom");
  const filter = await load(stored ? new Response(stored.body ?? stored) : bundled);
  decoded++;
  return filter;
}

/** The text of the body; undefined if it is too long. */
async function textOf(request) {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The URL in a JSON body; undefined if there is none. */
function urlOf(text) {
  try {
    const { url } = JSON.parse(text);
    return typeof url === "string" ? url : undefined;
  } catch {
    return undefined;
  }
}

function answer(status, body) {
  return Response.json(body, { status, headers: { "X-Filters-Decoded": String(decoded) } });
}
