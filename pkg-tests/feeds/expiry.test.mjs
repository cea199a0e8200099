/** Feeds: manifests that expire, by clocks that are right or off, and the age that a client allows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, during, HOUR, published } from "../helpers/feeds.mjs";
import { fails } from "../helpers/following.mjs";
import { memoryCache } from "../helpers/publisher.mjs";

/** Runs with a clock that is some milliseconds off. */
const off = (milliseconds, run) => during(Date.now() + milliseconds, run);

test("expiry: a clock that is an hour off, and maxAge", async () => {
  const { publisher, open } = await published();
  const expires = Date.now() + 2 * HOUR;
  publisher.publish({ expires });
  const feed = await open();
  const kept = memoryCache();
  await open({ cache: kept });
  for (const hours of [-1, 1]) {
    await off(hours * HOUR, async () => {
      assert.equal(feed.stale, false);
      assert.equal(await feed.update(), false);
      answers(await open(), 2);
    });
  }
  await during(expires, async () => {
    assert.equal(feed.stale, true);
    // There is nothing newer, but that isn't success either.
    await fails("expired", feed.update());
    answers(feed, 2);
    await fails("expired", open());
    const cached = await open({ cache: kept });
    assert.equal(cached.stale, true);
    answers(cached, 2);
    publisher.publish();
    await cached.update();
    assert.deepEqual([cached.stale, cached.generation], [false, 3]);
  });
  // maxAge can only shorten a generation's life.
  publisher.publish({ expires: Date.now() + 8 * HOUR });
  const strict = await open({ maxAge: HOUR });
  await off(2 * HOUR, async () => {
    assert.equal(strict.stale, true);
    await fails("expired", strict.update());
    await open({ maxAge: 9 * HOUR });
  });
  await off(9 * HOUR, () => fails("expired", open({ maxAge: 90 * HOUR })));
});
