/** Filters as objects: many are alive at once, and freed in every order and every way, also by the garbage collector. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CATCH_MEMORY, installed, printed } from "../helpers/installed.mjs";
import { given } from "../helpers/turn.mjs";

/** The output of a script in its own process, where `gc` collects garbage, and `collect` waits for finalizers too. */
function run(source) {
  const script = `
    ${CATCH_MEMORY}
    const api = started(await import("bloom-wasm"));
    const { BloomFilter, CountingBloomFilter, CuckooFilter, FilterError, RibbonFilter, ScalableBloomFilter, decode } = api;
    const collect = async () => {
      gc();
      await new Promise((done) => setImmediate(done));
    };
    const check = (holds, message) => {
      if (!holds) throw new Error(message);
    };
    ${source}
  `;
  return printed(script, "--expose-gc").trim();
}

test("many filters with random operations: each answers as its model does, however others were freed", {
  timeout: 600_000,
}, () => {
  const steps = given("STEPS", 30_000);
  const out = run(`
    let random = ${Number(process.env.SEED ?? 1)};
    const below = (limit) => Math.floor(((random = (Math.imul(random, 1664525) + 1013904223) >>> 0) / 2 ** 32) * limit);
    const options = { fpr: 1e-7 };
    const makers = {
      from: (keys) => [BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter][below(5)].from(keys, options),
      decode: (keys) => decode(RibbonFilter.from(keys, options).toBytes()),
      toBloom: (keys) => CountingBloomFilter.from(keys, options).toBloom(),
      withCapacity(keys) {
        const filter = [BloomFilter, CountingBloomFilter, CuckooFilter][below(3)].withCapacity(100, 1e-7);
        for (const key of keys) filter.add(key);
        return filter;
      },
      growing(keys) {
        const filter = new ScalableBloomFilter({ ...options, initialCapacity: 10 });
        filter.addMany(keys);
        return filter;
      },
    };
    const live = []; // { filter, keys, room }: each with the naive model of it, and how many keys it is made for
    const counts = {};
    let made = 0;
    const keyOf = (filter, i) => "filter " + filter + " key " + i;
    const expect = (code, use) => {
      try {
        use();
      } catch (error) {
        return check(error instanceof FilterError && error.code === code, code + " was wanted: " + error);
      }
      check(false, code + " was wanted, and nothing was thrown");
    };
    const copyOf = (filter) => Object.assign(Object.create(Object.getPrototypeOf(filter)), filter);
    const impostors = [(filter) => new Proxy(filter, {}), copyOf, (filter) => Object.create(filter)];
    const endings = {
      free: ({ filter }) => filter.free(),
      dispose: ({ filter }) => (Symbol.dispose ? filter[Symbol.dispose]() : filter.free()),
      collected() {}, // nobody else refers to it
      twice({ filter }) {
        filter.free();
        filter.free();
        expect("freed", () => filter.has("a"));
        expect("freed", () => filter.clone());
      },
      "by an impostor, which can't, and then itself"({ filter, keys }) {
        const impostor = impostors[below(impostors.length)](filter);
        for (const method of ["free", "has", "toBytes"]) expect("invalid_parameter", () => impostor[method]("a"));
        check(filter.hasAll(keys), "an impostor freed a filter");
        filter.free();
        expect("invalid_parameter", () => impostor.free());
      },
    };
    const pick = (object) => Object.entries(object)[below(Object.keys(object).length)];
    const ask = ({ filter, keys }, all) => {
      if (all || below(4) === 0) check(filter.hasAll(keys) && filter.hasMany(keys).every(Boolean), "a key is lost");
      const [key] = keys;
      if (key) check(filter.has(key), "a key is lost");
      // A key that another filter has, or had.
      const other = keyOf(below(made), below(30));
      check(filter.has(other) === keys.has(other), "a non-member, or a key of another filter");
    };
    const step = () => {
      const what = below(10);
      if (what < 4 || live.length === 0) {
        const keys = new Set(Array.from({ length: below(30) }, (_, i) => keyOf(made, i)));
        const [how, make] = pick(makers);
        counts[how] = (counts[how] ?? 0) + 1;
        live.push({ filter: make(keys), keys, room: { withCapacity: 100, growing: 100 }[how] ?? 0 });
        made++;
        return;
      }
      const at = below(live.length);
      const one = live[at];
      if (what < 7) return ask(one);
      if (what === 7) {
        const copy = { ...one, filter: one.filter.clone(), keys: new Set(one.keys) };
        check(copy.filter.equals(one.filter), "a copy differs");
        return live.push(copy);
      }
      if (what === 8 && one.keys.size < one.room) {
        const key = keyOf(made++, 0);
        one.filter.add(key);
        return one.keys.add(key);
      }
      const [how, end] = pick(endings);
      counts[how] = (counts[how] ?? 0) + 1;
      end(one);
      live.splice(at, 1);
    };
    for (let i = 1; i <= ${steps}; i++) {
      step();
      if (i % 1000 === 0) await collect();
      if (live.length > 500 && below(50) === 0) live.splice(0, 250); // and 250 at once for the collector
    }
    for (const one of live) ask(one, true);
    check(Object.keys(counts).length === 10 && Object.values(counts).every((count) => count > 100), JSON.stringify(counts));
    console.log(made, "filters,", JSON.stringify(counts));
  `);
  console.log(out);
});

test("many filters at once, asked, freed and collected; the memory is used again", { timeout: 600_000 }, () => {
  // A million takes a minute or so.
  const count = given("FILTERS", 50_000);
  const out = run(`
    const count = ${count};
    const begun = performance.now();
    const hold = () => Array.from({ length: count }, (_, i) => {
      const filter = new BloomFilter(256, 4);
      filter.add("key " + i);
      return filter;
    });
    const ask = (filters) => filters.forEach((filter, i) => check(filter.has("key " + i), "a key is lost"));
    let filters = hold();
    ask(filters);
    const size = memory.buffer.byteLength;
    const bytes = filters[count - 1].toBytes();
    // Frees every other one from the end; the garbage collector frees the rest.
    for (let i = count - 1; i >= 0; i -= 2) filters[i].free();
    for (let i = count - 2; i >= 0; i -= 2) check(filters[i].has("key " + i), "a key is lost");
    filters = undefined;
    await collect();
    await collect();
    filters = hold();
    ask(filters);
    check(Buffer.compare(filters[count - 1].toBytes(), bytes) === 0, "another blob");
    for (const filter of filters) filter.free();
    const grown = memory.buffer.byteLength - size;
    check(grown <= size / 8, grown + " bytes more the second time, of " + size);
    const rss = Math.round(process.resourceUsage().maxRSS / 1024);
    console.log(2 * count, "filters made, asked and freed in", ((performance.now() - begun) / 1000).toFixed(1), "s;", size, "bytes of WebAssembly's memory,", rss, "MiB in all");
  `);
  console.log(out);
});

test("memory grows by a fraction of itself: V8 collects all garbage whenever it grows", () => {
  const out = run(`
    const kept = [];
    let { buffer } = memory;
    let grown = 0;
    const first = buffer.byteLength;
    for (let i = 0; i < 100_000; i++) {
      kept.push(new BloomFilter(256, 4));
      if (memory.buffer !== buffer) ({ buffer } = (grown++, memory));
    }
    console.log(grown, buffer.byteLength / first);
  `);
  const [grown, factor] = out.split(" ").map(Number);
  assert.ok(factor > 4, "too few filters");
  // By a sixteenth each time.
  assert.ok(grown <= Math.log(factor) / Math.log(17 / 16) + 3, `${grown} times, to ${factor} times the size`);
});

test("a long key takes its own size of memory, and gives it back to the next filter", { timeout: 600_000 }, () => {
  const out = run(`
    const length = 2 ** 26;
    const long = "x".repeat(length);
    const filter = BloomFilter.from(["a"], { fpr: 1e-9 });
    const freed = filter.clone();
    freed.free();
    const before = memory.buffer.byteLength;
    const uses = {
      has: () => filter.has(long),
      hasMany: () => filter.hasMany(["a", long, "a"]).join() === "1,1,1",
      locations: () => filter.locations(long).length === 0,
      bytes: () => filter.has(new Uint8Array(length)),
      "a filter that is freed": () => {
        try {
          return freed.has(long);
        } catch (error) {
          return error.code !== "freed";
        }
      },
      add: () => !filter.add(long),
    };
    let most = 0;
    for (const [name, use] of Object.entries(uses)) {
      check(!use(), name);
      new CountingBloomFilter(60_000_000, 1, { counterBits: 8 }).free();
      most = Math.max(most, memory.buffer.byteLength - before);
    }
    check(filter.has(long) && filter.has("a") && !filter.has("b"), "a wrong answer");
    console.log(most / length);
  `);
  assert.ok(Number(out) > 0.9 && Number(out) < 1.2, `${out} times its size`);
});

test("a long key that was put but not looked up leaves nothing behind", async () => {
  const { BloomFilter, FilterError } = await installed();
  const long = "b".repeat(7 << 20);
  const filter = BloomFilter.from([long]);
  const gone = BloomFilter.from(["a"]);
  gone.free();
  for (const ask of [
    (key) => gone.has(key),
    (key) => BloomFilter.prototype.has.call(new Proxy(filter, {}), key),
    (key) => gone.hasMany([key]),
  ]) {
    assert.throws(() => ask("a".repeat(5 << 20)), FilterError);
    assert.equal(filter.has(long), true);
    assert.equal(filter.has("b"), false);
  }
});
