/** The feed to follow: its host must send `Access-Control-Allow-Origin: *`. */
export const FEED_URL = "https://lists.example/urls/feed.json";
/** The key that its publisher signs with, as `bloom-wasm feed keygen` printed it. */
export const PUBLIC_KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
