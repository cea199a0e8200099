/** The public side of what feeds and sharded filters have in common: a description and a class. */

import { invalidParameter } from "../boundary/input.js";
import { known } from "../boundary/known.js";
import type { FilterError } from "../error.js";
import type { Client } from "./client.js";
import type { Head } from "./manifest.js";

/** A description of the generation in place of a feed or a sharded filter. */
export interface GenerationInfo {
  /** The id of the feed or sharded filter: 32 hexadecimal digits. */
  feedId: string;
  /** The name that the publisher gave, or null. */
  name: string | null;
  /** The URL of a page about the list, http or https, or null. */
  homepage: string | null;
  /** The license of the list, such as an SPDX expression, or null. */
  license: string | null;
  /** The number of the generation in place. */
  generation: number;
  /** When its list was published, in milliseconds since 1970. */
  createdAt: number;
  /** When it expires, in milliseconds since 1970. */
  expires: number;
  /** What the keys are. */
  profile: "raw" | "url" | "password";
  /** Whether passwords are compared in lower case. */
  lowercase: boolean;
  /** Whether the keys are the SHA-1 hashes of passwords. */
  sha1: boolean;
  /** The false-positive rate that the publisher promises, 0 to 1: per check with `url`, otherwise per key. */
  fpr: number;
  /** The number of keys on the list. */
  count: number;
}

/** @internal What a manifest says of its generation. */
export function generationInfo(head: Head): GenerationInfo {
  const { feedId, name = null, homepage = null, license = null, generation, createdAt, expires } = head;
  const { profile, lowercase, sha1, fpr, count } = head;
  return { feedId, name, homepage, license, generation, createdAt, expires, profile, lowercase, sha1, fpr, count };
}

const clients = new WeakMap<object, Client<Head>>();

/** @internal The client of a feed or a sharded filter. Throws `invalid_parameter` for anything else. */
export function clientOf<C = Client<Head>>(opened: object): C {
  const client = clients.get(opened);
  if (client) return client as C;
  throw invalidParameter("call this as feed.update(), on what was opened, not on a copy or a Proxy");
}

/** What feeds and sharded filters have in common. */
export abstract class Generations {
  /** @internal */
  protected constructor(client: Client<Head>) {
    clients.set(this, client);
    // Not in the class, which a bundler would then keep even if nobody opens anything.
    if (Symbol.dispose) Object.defineProperty(this, Symbol.dispose, { value: this.close });
    const shown = () => {
      const { generation, count, fpr } = client.present;
      return `${this.constructor.name} { generation: ${generation}, count: ${count}, fpr: ${fpr}, stale: ${this.stale} }`;
    };
    // What `console.log` prints in Node, Deno and Bun.
    Object.defineProperty(this, Symbol.for("nodejs.util.inspect.custom"), { value: shown });
  }

  /** The number of the generation in place. */
  get generation(): number {
    return clientOf(this).present.generation;
  }

  /** When its list was published. */
  get createdAt(): Date {
    return new Date(clientOf(this).present.createdAt);
  }

  /** Whether it has expired, or is older than a feed's `maxAge`. It still answers. */
  get stale(): boolean {
    return clientOf(this).isStale;
  }

  /**
   * What is wrong with the cache, as an error with the code `cache`: it lacks the newest generation, or the part
   * fetched last; or it can't be read, and may have a newer generation than the one in place. Each update reads it
   * again, and puts such a generation in place. Undefined if all is well.
   */
  get cacheError(): FilterError | undefined {
    return clientOf(this).cacheError;
  }

  /**
   * Closes it, and removes all that the cache holds of it. With `publicKey`, it stays open, and this removes what is
   * there for those keys instead, such as the keys that were trusted before a change. This also removes the protection
   * against a rollback. Rejects with `cache` if the cache can't remove it all, and with `invalid_parameter` for the keys
   * in use.
   */
  async forget(options?: { publicKey?: string | string[] | null }): Promise<void> {
    known(options ?? undefined, "forget", { publicKey: 1 });
    const { publicKey } = Object(options) as { publicKey?: string | string[] | null };
    // Otherwise, a key that is missing by mistake would remove what the present keys have.
    if (publicKey === undefined && "publicKey" in Object(options)) throw invalidParameter("publicKey is undefined");
    return clientOf(this).forget(publicKey);
  }

  /**
   * Ends all watching and whatever is under way, and frees memory. A feed's filter keeps answering; questions to a
   * sharded filter, and `update`, reject with `freed`.
   */
  close(): void {
    clientOf(this).close();
  }
}
