/** Feeds: several keys and their rotation, no signature, and no way to check one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, published } from "../helpers/feeds.mjs";
import { fails } from "../helpers/following.mjs";
import { keyPair, manifest, memoryCache } from "../helpers/publisher.mjs";

test("several keys and their rotation", async () => {
  const { publisher, open } = await published();
  const [old, next] = [publisher.key, keyPair()];
  const feed = await open({ publicKey: [next.publicKey, old.publicKey, old.publicKey] });
  publisher.signers = [old, next];
  publisher.publish();
  await open({ publicKey: next.publicKey });
  await open({ publicKey: [old.publicKey] });
  publisher.signers = [next];
  publisher.publish();
  assert.equal(await feed.update(), true);
  const { message } = await fails("signature", open());
  assert.match(message, /: none of the public keys has signed it as a feed; is publicKey the publisher's\?$/);
  // The order of the keys, and repeated keys, make no difference.
  const cache = memoryCache();
  await open({ cache, publicKey: [next.publicKey, old.publicKey] });
  const names = [...cache.entries.keys()];
  await open({ cache, publicKey: [old.publicKey, next.publicKey, old.publicKey] });
  assert.deepEqual([...cache.entries.keys()], names);
});

test("an unsigned feed, if the caller says so", async () => {
  const { publisher, site, open } = await published();
  publisher.signers = [];
  publisher.publish();
  const feed = await open({ publicKey: null });
  answers(feed, 2);
  await fails("signature", open());
  publisher.signers = [keyPair()];
  publisher.publish();
  assert.equal(await feed.update(), true);
  // One that is also older by its time could come from an edge that lags behind.
  publisher.manifest = manifest(publisher.payload({ generation: 2, createdAt: Date.now() + 1000 }));
  await fails("rollback", feed.update());
  publisher.manifest = manifest(publisher.payload({ generation: 5, fpr: 2 }));
  const { message } = await fails("not_a_feed", feed.update());
  assert.equal(message, `${site.url}: this is no manifest of a feed: fpr is wrong`);
});

test("if signatures can't be checked, the error says so", async () => {
  const { open } = await published();
  const { subtle } = crypto;
  const without = async (value, run) => {
    Object.defineProperty(crypto, "subtle", { value, configurable: true });
    try {
      await run();
    } finally {
      delete crypto.subtle;
    }
  };
  await without(undefined, async () => {
    assert.match((await fails("signature", open())).message, /https/);
    answers(await open({ publicKey: null }), 1);
  });
  const importKey = async () => {
    throw new DOMException("Unrecognized name.", "NotSupportedError");
  };
  await without({ importKey }, async () => assert.match((await fails("signature", open())).message, /Ed25519/));
  assert.equal(crypto.subtle, subtle);
});
