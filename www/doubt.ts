/** Where "definitely not on the list" would say more than a filter knows: what it is asked for isn't what its keys are. */
import { isHash, isUrl } from "./look.ts";

export type Profile = "raw" | "url" | "password";

interface Doubt {
  /** What can be said of a key that isn't found. */
  verdict: string;
  meaning: string;
  /** The same of lines that look so, after their number. */
  lines: string;
}

const asUrls = "build the filter as “URLs and hosts”, or with --profile url";

const doubts = {
  spelling: {
    verdict: "not on the list in this spelling",
    meaning:
      "This filter compares keys byte by byte, so only this exact spelling was looked up, and no parent domain or " +
      `folder. To find a URL in every spelling, ${asUrls}.`,
    lines:
      "look like URLs or hosts, but this filter compares keys byte by byte: only their exact spelling was looked up. " +
      `To find URLs in every spelling, ${asUrls}.`,
  },
  passwords: {
    verdict: "not on the list as a password",
    meaning:
      "This filter holds passwords, so all of this was looked up as one. It can't tell whether a URL or host is listed.",
    lines:
      "look like URLs or hosts, but this filter holds passwords: each line was looked up as one. It can't tell whether " +
      "a URL or host is listed.",
  },
  hash: {
    verdict: "not on the list as a password",
    meaning: "This looks like a hash. The filter is asked for passwords themselves, so the hash was looked up as one.",
    lines: "look like hashes, but this filter is asked for passwords themselves: each hash was looked up as one.",
  },
  host: {
    verdict: "not on the list as a host",
    meaning:
      "This filter holds URLs and hosts, so this was looked up as the name of a host. It can't answer for other keys.",
    lines: "don't look like URLs or hosts, but this filter holds nothing else: they were looked up as names of hosts.",
  },
} satisfies Record<string, Doubt>;

/** An IP address, or a scheme without the slashes that browsers do without. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|https?:)/i;

/** What was typed names a host as people write one: it has a scheme, a dot in the host, or an address in brackets. */
function namesHost(text: string): boolean {
  if (/^\s*[a-z][a-z0-9+.-]*:[/\\]/i.test(text)) return true;
  const [authority = ""] = text
    .trim()
    .replace(/^[/\\]+/, "")
    .split(/[/\\?#]/);
  return /[.\u3002\uff0e\uff61[]/.test(authority.slice(authority.lastIndexOf("@") + 1));
}

/** What is doubtful about asking a filter with this profile for a key, if anything is. */
export function doubtOf(profile: Profile, key: string): Doubt | undefined {
  if (profile === "url") return namesHost(key) ? undefined : doubts.host;
  const text = key.trim();
  // Raw keys may be anything, so what could be an address is enough. Many passwords have a dot.
  if (profile === "raw" && (isUrl(text) || namesHost(text))) return doubts.spelling;
  if (profile === "password" && (isUrl(text) || ADDRESS.test(text))) return doubts.passwords;
  return profile === "password" && isHash(text) ? doubts.hash : undefined;
}
