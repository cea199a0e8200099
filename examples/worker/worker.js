/** Screens requests: 403 if the URL in the JSON body or the Referer header is maybe on the list, otherwise 200. */
import { openFeed } from "bloom-wasm/reader";

const MAX_BYTES = 10_000; // the longest body
const EVERY = 60_000; // milliseconds between two updates, at least

let opening; // the promise of the feed, one for all requests of this isolate
let updated; // when the last update began

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
    let feed;
    try {
      feed = await feedOf(env, context);
    } catch (error) {
      console.error(error);
      return answer(503, { error: "the feed could not be opened" });
    }
    const { filter, generation } = feed;
    for (const url of urls) {
      const key = filter.matchUrl(url);
      if (key !== null) return answer(403, { error: "maybe on the list", key, generation });
    }
    return answer(200, { ok: true, generation }); // or pass the request on: return fetch(request)
  },
};

/**
 * The feed. The first request of an isolate opens it, and if that fails, the next one tries again. An update begins at
 * most once a minute. It belongs to the request that began it, which waits for it after its answer.
 */
function feedOf({ FEED_URL, PUBLIC_KEY }, context) {
  if (opening && Date.now() - updated < EVERY) return opening;
  updated = Date.now();
  // Workers wait for 30 seconds after the answer. The timeout is shorter, so that a failure can be tried again.
  opening ??= openFeed(FEED_URL, { publicKey: PUBLIC_KEY, timeout: 20_000 });
  const update = opening.then(
    (feed) => feed.update(),
    () => (opening = undefined),
  );
  context.waitUntil(update.catch((error) => console.error(error)));
  return opening;
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
  return Response.json(body, { status });
}
