/** Many questions at once to a sharded filter: what they fetch, how much at once, and how they fail. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fails, noNetwork, served, turns } from "../helpers/following.mjs";
import { ShardsPublisher, without } from "../helpers/publisher.mjs";
import { members, nonmembers, openSharded, RibbonFilter } from "../helpers/sharded.mjs";
import { given } from "../helpers/turn.mjs";

/** How many keys are asked for if the answers don't matter. */
const ASKED = given("ASKED", 90);

/** A sharded filter of passwords on a server. */
async function published(shards = 512) {
  const from = (keys, options) => RibbonFilter.from(keys, { ...options, profile: "password" });
  const its = await served(new ShardsPublisher({ from }, shards, members), openSharded);
  its.publisher.publish({ profile: "password" });
  return its;
}

/** Lets all other requests begin that may. */
async function others() {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** A `fetch` from a publisher that counts how many requests and bodies are under way; `fault` may answer instead. */
function counting(publisher, fault = () => undefined) {
  const counted = { now: 0, most: 0 };
  const get = without(publisher);
  counted.fetch = async (url, { signal }) => {
    counted.most = Math.max(counted.most, ++counted.now);
    await others();
    const answer = (await fault(url.split("/").at(-1), signal)) ?? (await get(url));
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const body = new ReadableStream({
      async pull(controller) {
        await others();
        counted.now--;
        controller.enqueue(bytes);
        controller.close();
      },
    });
    return new Response(body, { status: answer.status });
  };
  return counted;
}

/** Never answers, and ends with its signal, like `fetch`. */
const hang = (signal) =>
  new Promise((_, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
  });

test("answers are in the order of the passwords, and each file is fetched once", async () => {
  const { publisher, site, open } = await published();
  const filter = await open();
  site.asked();
  // Every third is a member.
  const asked = nonmembers.slice(0, 3000).map((stranger, i) => (i % 3 ? stranger : members[i]));
  const answers = await filter.hasPasswords(asked);
  const blobs = publisher.blobs.map((blob) => RibbonFilter.decode(blob));
  const expected = (password) => Number(blobs[publisher.shardOf(password)].hasPassword(password));
  assert.deepEqual([...answers], asked.map(expected));
  assert.ok(answers.filter(Boolean).length >= 1000 && answers.filter(Boolean).length < 1020);
  const files = site.asked();
  const needed = new Set(asked.flatMap((password) => publisher.filesOf(password)));
  assert.deepEqual(files.sort(), [...needed].sort());
  const some = new Set([members[4999], nonmembers[0]]);
  assert.deepEqual([...(await filter.hasPasswords(some))], [1, expected(nonmembers[0])], "any iterable");
  const twice = await filter.hasPasswords([members[4999], members[0], members[4999]]);
  assert.deepEqual([...twice], [1, 1, 1]);
});

test("no more requests are under way than allowed, and no fewer", async () => {
  const { publisher, open } = await published();
  const warnings = [];
  const warned = (warning) => warnings.push(warning.message);
  process.on("warning", warned);
  for (const concurrency of [1, 3, 8, 20, undefined]) {
    for (const many of ["hasPasswords", "hasMany"]) {
      const counted = counting(publisher);
      const filter = await open({ fetch: counted.fetch });
      counted.most = 0;
      const options = concurrency === undefined ? undefined : { concurrency };
      const answers = await filter[many](members.slice(0, ASKED), options);
      assert.ok(answers.every((answer) => answer === 1));
      assert.equal(counted.most, concurrency ?? 8, `${many}, ${concurrency}`);
      assert.equal(counted.now, 0);
      filter.close();
    }
  }
  // Node's warning when many listen to one signal.
  await turns();
  process.off("warning", warned);
  assert.deepEqual(warnings, []);
});

test("a shard that can't be fetched rejects with its error, and nothing continues or hangs", async () => {
  const { publisher, open } = await published();
  const [page, shard] = publisher.filesOf(members[7]);
  for (const [code, answer] of [
    ["http", () => new Response("", { status: 404 })],
    ["integrity", () => new Response("other bytes")],
    ["network", noNetwork],
  ]) {
    for (const spoiled of [page, shard]) {
      let isSpoiled = true;
      const hanging = [];
      const counted = counting(publisher, (name, signal) => {
        if (!isSpoiled) return undefined;
        if (name === spoiled) return answer();
        // All other shards take forever, unless they are stopped.
        if (publisher.pages.includes(name) || name === "shards.json") return undefined;
        const stopped = hang(signal);
        hanging.push(stopped.catch(() => "stopped"));
        return stopped;
      });
      const filter = await open({ fetch: counted.fetch });
      const passwords = [members[7], ...members.slice(0, (2 * ASKED) / 3)];
      await fails(code, filter.hasPasswords(passwords), `${code} ${spoiled === page}`);
      assert.ok((await Promise.all(hanging)).every((end) => end === "stopped"));
      isSpoiled = false;
      assert.ok(
        (await filter.hasPasswords(passwords)).every((answer) => answer === 1),
        "the next call",
      );
      filter.close();
    }
  }
});

test("an abort rejects with its reason, and ends the requests", async () => {
  const { publisher, open } = await published();
  const reason = new Error("enough");
  const stop = new AbortController();
  const ended = [];
  const counted = counting(publisher, (name, signal) => {
    if (publisher.pages.includes(name) || name === "shards.json") return undefined;
    const stopped = hang(signal);
    ended.push(stopped.catch(() => "stopped"));
    if (ended.length === 4) stop.abort(reason);
    return stopped;
  });
  const filter = await open({ fetch: counted.fetch });
  await assert.rejects(filter.hasPasswords(members, { signal: stop.signal, concurrency: 4 }), reason);
  assert.deepEqual(await Promise.all(ended), Array(4).fill("stopped"));
  await assert.rejects(filter.hasPasswords(members, { signal: stop.signal }), reason);
  await assert.rejects(filter.hasPasswords([], { signal: stop.signal }), reason);
  assert.equal(ended.length, 4, "and no other was begun");
  filter.close();
  await fails("freed", filter.hasPasswords(members));
});

test("values that aren't passwords, lists of them, or known options", async () => {
  const { site, open } = await published(2);
  const filter = await open();
  site.asked();
  for (const wrong of [undefined, 5, new Uint8Array(2)])
    for (const passwords of [wrong, ["a", wrong]]) await fails("invalid_key", filter.hasPasswords(passwords));
  await fails("invalid_key", filter.hasPasswords("abc"));
  for (const concurrency of [0, -1, 1.5, NaN, Infinity, "3", null, 3n])
    await fails("invalid_parameter", filter.hasMany(["a"], { concurrency }), String(concurrency));
  await fails("invalid_parameter", filter.hasPasswords(["a"], { concurency: 3 }));
  await fails("invalid_parameter", filter.hasPasswords(["a"], { signal: {} }));
  await fails("invalid_parameter", filter.hasPassword("a", { concurrency: 3 }));
  assert.deepEqual(site.asked(), []);
  // The number is what `map` gives.
  const [answers] = await Promise.all([[members[0]]].map(filter.hasPasswords, filter));
  assert.deepEqual([...answers], [1]);
});
