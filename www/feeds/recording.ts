/** The recorded feed, as scripts/recording.mjs leaves it. */

export interface Generation {
  /** The manifest, as the host served it. */
  manifest: string;
  /** Hosts on the list, and how many of them are new or gone. */
  count: number;
  added: number;
  removed: number;
  /** The bytes of one blob with all of the list. */
  full: number;
  /** One of the new hosts. */
  example: string | null;
}

export interface Recording {
  /** Where the list is from. */
  source: string;
  publicKey: string;
  generations: Generation[];
}

/** Where the recording lies; its manifest would be `feed.json` there. */
export const folder = new URL("../recording/", location.href);

export async function recorded(): Promise<Recording> {
  const response = await fetch(new URL("recording.json", folder));
  if (!response.ok) throw new Error(`the recording could not be loaded: status ${response.status}`);
  return response.json();
}
