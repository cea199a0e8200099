/** Sharded filters: aborts, closings, callers that leave, and requests of a Worker that end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fails, turns, workerRequests } from "../helpers/following.mjs";
import { members, neighbour, published } from "../helpers/sharded.mjs";

test("a page or shard that another request of a Worker has asked for is asked for once more", async (context) => {
  const { publisher, site, open } = await published(16);
  const files = publisher.filesOf(members[0]);
  const requests = workerRequests(context);
  for (const which of files) {
    requests.at = 1;
    const filter = await open();
    const hung = [];
    site.fault = (path, response, bytes) => path === which && hung.push(() => response.end(bytes));
    const lost = filter.has(members[0]);
    while (hung.length === 0) await turns();

    site.fault = undefined;
    requests.at = 2;
    site.asked();
    assert.equal(await filter.has(neighbour(publisher, members[0])), true);
    assert.deepEqual(site.asked(), files.slice(files.indexOf(which)));

    requests.at = 1;
    hung.pop()();
    assert.equal(await lost, true, "if that request isn't over, it gets its answer, too");
    requests.at = 3;
    site.asked();
    assert.equal(await filter.has(members[0]), true);
    assert.deepEqual(site.asked(), [], "from memory");
    filter.close();
  }
});

test("an abort ends one wait, and the transfer when nobody waits", async () => {
  const { publisher, site, open } = await published(2);
  const filter = await open();
  const [, shard] = publisher.filesOf(members[0]);
  /** Sends the beginning of the shard. The promise has a function that sends the rest, and one for its end. */
  const hang = () =>
    new Promise((reached) => {
      site.fault = (path, response, bytes) => {
        if (path !== shard) return false;
        const ended = new Promise((resolve) => response.on("close", resolve));
        response.write(bytes.subarray(0, 5));
        reached({ ended, goOn: () => response.end(bytes.subarray(5)) });
        return true;
      };
    });
  let begun = hang();
  const stop = new AbortController();
  const [one, two] = [filter.has(members[0], { signal: stop.signal }), filter.has(members[0])];
  const { goOn } = await begun;
  const reason = new Error("enough");
  stop.abort(reason);
  await assert.rejects(one, reason);
  goOn();
  assert.equal(await two, true);

  const fresh = await open();
  begun = hang();
  const alone = new AbortController();
  const waiting = fresh.hasMany([members[0]], { signal: alone.signal });
  const { ended } = await begun;
  alone.abort(reason);
  await assert.rejects(waiting, reason);
  await ended; // the request is over
  site.fault = undefined;
  assert.equal(await fresh.has(members[0]), true, "the next call works");
  await assert.rejects(fresh.has("x", { signal: AbortSignal.abort(reason) }), reason);
  await assert.rejects(open({ signal: AbortSignal.abort(reason) }), reason);

  const closing = await open();
  begun = hang();
  const pending = closing.has(members[0]);
  await begun;
  closing.close();
  await fails("freed", pending);
  await fails("freed", closing.has(members[0]));
  await fails("freed", closing.update());
  closing.close();
});

test("an abort and a close while a newer manifest is being looked for", async () => {
  const { publisher, site, open } = await published(2);
  const reason = new Error("enough");
  for (const end of ["abort", "close"]) {
    const filter = await open();
    const [, shard] = publisher.filesOf(members[0]);
    const looked = new Promise((resolve) => {
      site.fault = (path, response) => {
        if (path === shard) return response.writeHead(404).end(), true;
        return path === "shards.json" && (resolve(), true);
      };
    });
    const stop = new AbortController();
    const asked = filter.has(members[0], { signal: stop.signal });
    await looked;
    if (end === "abort") {
      stop.abort(reason);
      await assert.rejects(asked, reason);
    } else {
      filter.close();
      await fails("freed", asked);
    }
    site.fault = undefined;
  }
});

test("memory is freed even if the first caller has left", async () => {
  const { publisher, site, open } = await published(2);
  const filter = await open({ maxMemory: 0 });
  const [, shard] = publisher.filesOf(members[0]);
  let answer;
  const asked = new Promise((resolve) => {
    site.fault = (path, response, bytes) => path === shard && ((answer = () => response.end(bytes)), resolve(), true);
  });
  const stop = new AbortController();
  const first = filter.has(members[0], { signal: stop.signal });
  const second = filter.has(members[0]);
  await asked;
  stop.abort();
  await assert.rejects(first, { name: "AbortError" });
  site.fault = undefined;
  answer();
  assert.equal(await second, true);
  site.asked();
  assert.equal(await filter.has(members[0]), true);
  assert.deepEqual(site.asked(), publisher.filesOf(members[0]), "nothing was held");
});
