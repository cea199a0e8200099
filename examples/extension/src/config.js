/** Where the filter is. Its server must send `Access-Control-Allow-Origin: *`. */
export const FILTER_URL = "https://example.com/phishing.bloom";
