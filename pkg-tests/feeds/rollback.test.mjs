/** Feeds: a manifest that is older, another feed's, or a second one of the same generation is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, bases, basesIn, gate, headName, namesakeOf, older, published, tab } from "../helpers/feeds.mjs";
import { fails } from "../helpers/following.mjs";
import { keyPair, manifest, memoryCache } from "../helpers/publisher.mjs";

test("a rollback is refused: replayed and swapped manifests, another feed's, and one of a stolen key", async () => {
  const { publisher, site, open } = await published();
  const first = older(publisher);
  publisher.delta("second");
  const cache = memoryCache();
  const feed = await open({ cache });
  publisher.manifest = first;
  await fails("rollback", feed.update());
  answers(feed, 2, { name: "second" });

  // Another feed under the same key.
  site.publisher = namesakeOf(publisher);
  await fails("wrong_feed", feed.update());
  answers(feed, 2, { name: "second" });
  site.publisher = publisher;

  // The thief of the key signs the highest generation.
  publisher.manifest = manifest(publisher.payload({ generation: 2 ** 53 - 1 }), [publisher.key]);
  assert.equal(await feed.update(), true);
  const next = keyPair();
  publisher.signers = [next];
  publisher.delta("honest");
  await fails("signature", feed.update());
  const both = [publisher.key.publicKey, next.publicKey];
  // The old key's client has the thief's generation, and doesn't know the new key.
  const stays = await open({ cache, publicKey: publisher.key.publicKey });
  assert.equal(stays.generation, 2 ** 53 - 1);
  await fails("signature", stays.update());
  const moved = await open({ cache, publicKey: next.publicKey });
  answers(moved, 3, { name: "honest" });
  // Both keys together are a third set.
  answers(await open({ cache, publicKey: both }), 3, { name: "honest" });
});

test("a CDN node that lags a little isn't a rollback", async () => {
  const { publisher, open } = await published();
  const [second, first] = [9, 11].map((minutes) => older(publisher, minutes * 60_000));
  publisher.delta("second");
  const cache = memoryCache();
  const feed = await open({ cache });
  publisher.manifest = second;
  assert.equal(await feed.update(), false);
  answers(feed, 2, { name: "second" });
  assert.equal(feed.cacheError, undefined);
  publisher.manifest = first;
  await fails("rollback", feed.update());
  // A lag is only tolerated against a generation in place, and this client can't put one there.
  publisher.manifest = second;
  for (const name of basesIn(cache)) cache.entries.delete(name);
  await fails("rollback", open({ cache }));
  // The generation of another tab counts, too, and is put in place.
  publisher.delta("third");
  const behind = older(publisher, 60_000);
  publisher.delta("fourth");
  assert.equal((await open({ cache })).generation, 4);
  publisher.manifest = behind;
  assert.equal(await feed.update(), true);
  answers(feed, 4, { name: "fourth" });
});

test("two payloads of one generation: the cache's one stays, and this is reported", async () => {
  const { publisher, open } = await published();
  const cache = memoryCache();
  const slow = tab(cache);
  const [hung, goOn] = [gate(), gate()];
  publisher.publish();
  slow.fault = async (method) => {
    if (method !== "put") return;
    hung.open();
    await goOn.opened;
  };
  const one = open({ cache: slow });
  await hung.opened;
  publisher.generation--;
  publisher.base(bases.b);
  await open({ cache });
  const [head] = headName(cache);
  const kept = cache.entries.get(head);
  goOn.open();
  const feed = await one;
  answers(feed, 2);
  assert.equal(feed.cacheError?.code, "cache");
  assert.deepEqual(cache.entries.get(head), kept);
  await fails("rollback", feed.update());
});
