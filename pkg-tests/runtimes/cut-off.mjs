/**
 * Cuts off calls of "bloom-wasm", in any runtime: by a stack that runs out at a random depth, and by globals that throw.
 * After each, asks all filters, and compares with what is known of them. `rounds` is how often each call is cut off.
 * Returns what was wrong, how often each call was cut off, and the memory that filters of these sizes then take.
 */
export async function cutOff(api, { rounds, seed = 1, only = undefined }) {
  const { BloomFilter, CountingBloomFilter, CuckooFilter, ForeignFilter, RibbonFilter, ScalableBloomFilter } = api;
  const { decode, FilterError, load } = api;
  const encode = (text) => new TextEncoder().encode(text);
  const random = (below) => {
    // xorshift32
    for (const shift of [13, -17, 5]) seed ^= shift > 0 ? seed << shift : seed >>> -shift;
    return (seed >>> 0) % below;
  };

  const keys = Array.from({ length: 300 }, (_, i) => `key ${i}`);
  const nonmembers = Array.from({ length: 300 }, (_, i) => `stranger ${i}`);
  const hosts = Array.from({ length: 200 }, (_, i) => `host${i}.example`);
  const secret = new Uint8Array(16).fill(7);
  const lists = { bad: ["bad.example", "both.example/x"], worse: ["worse.example", "both.example/x"] };

  // What must outlive every cut: filters of each kind, built, decoded, changed and cloned.
  const counting = CountingBloomFilter.from(keys);
  counting.remove("key 0");
  const scalable = new ScalableBloomFilter({ initialCapacity: 10 });
  scalable.addMany(keys);
  const filters = {
    bloom: BloomFilter.from(keys, { name: "a name", createdAt: new Date(5) }),
    counting,
    scalable,
    cuckoo: CuckooFilter.from(keys),
    ribbon: RibbonFilter.from(keys),
    keyed: RibbonFilter.from(keys, { secret, seed: 5n }),
    urls: RibbonFilter.from(hosts, { profile: "url", allow: ["fine.example"], fpr: 0.2 }),
    tagged: RibbonFilter.fromTagged(lists, { profile: "url" }),
    passwords: RibbonFilter.from(["Pässword"], { profile: "password", lowercase: true }),
    foreign: ForeignFilter.from(keys, { format: "guava", funnel: "utf8" }),
    clone: BloomFilter.from(keys).clone(),
  };
  const known = Object.entries(filters).map(([name, filter]) => [name, filter, filter.toBytes(), filter.info()]);
  const same = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);
  const answers = () => [
    filters.bloom.hasMany([...keys, ...nonmembers]).join(""),
    filters.keyed.hasMany([...keys, ...nonmembers]).join(""),
    hosts.every((host) => filters.urls.hasUrl(`https://www.${host}/a?b`)),
    filters.urls.hasUrl("https://fine.example"),
    filters.tagged.urlTags("http://both.example/x").join(),
    filters.passwords.hasPassword("PA\u0308SSWORD"),
    filters.foreign.hasAll(keys),
    filters.counting.count("key 1"),
  ];
  const right = JSON.stringify(answers());

  const wrong = [];
  const check = (when) => {
    try {
      const now = JSON.stringify(answers());
      if (now !== right) wrong.push(`${when}: ${now}`);
      for (const [name, filter, bytes, info] of known) {
        if (!same(filter.toBytes(), bytes)) wrong.push(`${when}: the bytes of ${name}`);
        if (JSON.stringify(filter.info()) !== JSON.stringify(info)) wrong.push(`${when}: info of ${name}`);
      }
    } catch (error) {
      wrong.push(`${when}: ${error.stack}`);
    }
  };

  // Calls to be cut off. Those that change a filter have one of their own: it may be lost, but never be wrong.
  let own;
  const renew = () => {
    own = {
      bloom: BloomFilter.from(keys),
      counting: CountingBloomFilter.from(keys),
      cuckoo: CuckooFilter.withCapacity(10_000, 0.01),
      scalable: ScalableBloomFilter.from(keys),
      hosts: BloomFilter.from(hosts, { profile: "url" }),
    };
    own.cuckoo.addMany(keys);
  };
  renew();
  const lost = { filters: 0 };
  const checkOwn = (when) => {
    for (const [name, filter] of Object.entries(own)) {
      try {
        const members = name === "hosts" ? hosts.map((host) => `${host}/`) : keys;
        if (!filter.hasAll(members)) wrong.push(`${when}: ${name} has lost keys`);
      } catch (error) {
        if (!(error instanceof FilterError) || error.code !== "wasm_load")
          wrong.push(`${when}: ${name}: ${error.stack}`);
        lost.filters++;
        renew();
      }
    }
  };
  const blobs = known.filter(([name]) => !["foreign", "keyed"].includes(name)).map(([, , bytes]) => bytes);
  const theirs = filters.foreign.toForeign();
  const text = encode(keys.join("\n"));
  const calls = {
    has: () => filters.ribbon.has("key 1"),
    hasBytes: () => filters.keyed.has(encode("key 1")),
    hasLong: () => filters.bloom.has("x".repeat(20_000)),
    hasMany: () => filters.cuckoo.hasMany(keys),
    hasAny: () => filters.counting.hasAny(nonmembers.slice(0, 3)),
    hasLines: () => filters.scalable.hasLines(text),
    hasUrl: () => filters.urls.hasUrl("https://www.host1.example/a?b"),
    hasOddUrl: () => filters.urls.hasUrl("http://user@HOST1.example\\@b\u00fccher.example/%61/../\u00e9"),
    matchUrl: () => filters.urls.matchUrl("//www.host3.example"),
    tags: () => filters.tagged.tags("bad.example/"),
    urlTags: () => filters.tagged.urlTags("http://a.worse.example/1/../2?3"),
    hasPassword: () => filters.passwords.hasPassword("PASSWO\u0308RD"),
    info: () => filters.urls.info(),
    estimated: () => filters.bloom.estimatedFpr + filters.bloom.estimatedCount,
    toBytes: () => filters.counting.toBytes(),
    equals: () => filters.bloom.equals(filters.clone),
    clone: () => filters.urls.clone().free(),
    toBloom: () => filters.counting.toBloom().free(),
    locations: () => filters.bloom.locations("a"),
    count: () => filters.counting.count("key 1"),
    formulas: () => api.optimal(1000, 0.01).bits + api.fprFor(10, 100, 3) + api.countFor(1000, 0.1),
    decode: () => decode(blobs[random(blobs.length)]).free(),
    decodeKeyed: () => decode(known.find(([name]) => name === "keyed")[2], { secret }).free(),
    decodeForeign: () => decode(theirs, { format: "guava", funnel: "utf8" }).free(),
    toForeign: () => filters.foreign.toForeign(),
    from: () => RibbonFilter.from(keys).free(),
    fromBloom: () => BloomFilter.from(keys).free(),
    fromUrls: () => RibbonFilter.from([...hosts, "*.no"], { profile: "url", allow: ["a.b"], onSkip() {} }).free(),
    fromTagged: () => RibbonFilter.fromTagged(lists, { profile: "url" }).free(),
    fromForeign: () => ForeignFilter.from(keys, { format: "redisbloom" }).free(),
    empty: () => [new BloomFilter(800, 1), new ScalableBloomFilter(), CuckooFilter.withCapacity(100, 0.1)],
    free: () => BloomFilter.from(["a"]).free(),
    add: () => own.bloom.add(`new ${random(1e9)}`),
    addCounting: () => own.counting.add("key 5"),
    addCuckoo: () => own.cuckoo.add(`new ${random(1e9)}`),
    addScalable: () => own.scalable.add(`new ${random(1e9)}`),
    addUrl: () => own.hosts.add(`https://\u00fc${random(1e9)}.example/`),
    addMany: () => own.bloom.addMany(["key 1", `new ${random(1e9)}`]),
    addLines: () => own.counting.addLines(encode("key 1\nkey 2")),
    union: () => own.bloom.equals(filters.bloom) && own.bloom.union(filters.bloom),
    remove: () => own.counting.add("more") && own.counting.remove("more"),
  };

  // What is under way while calls are cut off.
  const underWay = () => {
    let streams;
    const bytes = (blob) =>
      new Response(
        new ReadableStream({
          async start(controller) {
            await streams;
            for (let at = 0; at < blob.length; at += 50) {
              controller.enqueue(blob.slice(at, at + 50));
              await undefined;
            }
            controller.close();
          },
        }),
      );
    let cut;
    streams = new Promise((resolve) => (cut = resolve));
    const all = Promise.all([
      load(bytes(filters.ribbon.toBytes())),
      load(bytes(filters.keyed.toBytes()), { secret }),
      load(bytes(theirs), { format: "guava", funnel: "utf8" }),
      RibbonFilter.fromStream(
        (async function* () {
          for (const key of keys) {
            yield key;
            if (key === "key 150") await streams;
          }
        })(),
      ),
    ]);
    return { cut, all };
  };

  const isCut = (error) => ["RangeError", "InternalError"].includes(error?.name);
  const descend = (depth, run) => (depth > 0 ? descend(depth - 1, run) : run());
  /** About how many frames there are, from here. */
  const room = () => {
    let low = 100;
    let high = 1_000_000;
    while (high - low > 50) {
      const depth = (low + high) >> 1;
      try {
        descend(depth, () => {});
        low = depth;
      } catch {
        high = depth;
      }
    }
    return low;
  };

  const met = {};
  const memory = [];
  let total = 0;
  const measure = () => globalThis.process?.memoryUsage && memory.push(Math.round(process.memoryUsage().rss / 1e6));
  for (const [name, call] of Object.entries(calls)) {
    if (only && !only.includes(name)) continue;
    met[name] = 0;
    // A cold and a warm call need unlike depths, so the depth follows.
    let depth = room();
    for (let round = 0; met[name] < rounds && round < 200 + 20 * rounds; round++) {
      try {
        descend(Math.max(0, depth - random(60)), call);
        depth += met[name] > 0 ? 40 : 200;
      } catch (error) {
        if (error?.code === "wasm_load") {
          lost.filters++;
          renew();
          continue;
        }
        if (!isCut(error)) wrong.push(`${name}: ${error?.stack ?? error}`);
        met[name]++;
        depth -= 30;
        if (random(4) > 0) check(`after ${name}`);
        if (random(4) === 0) checkOwn(`after ${name}`);
        if (++total % 100 === 0) measure();
      }
    }
    check(`at the end of ${name}`);
    checkOwn(`at the end of ${name}`);
  }

  // Loads and streams that are under way while a call is cut off, and a builder whose keys cut one off.
  for (let i = 0; i < 3; i++) {
    const { cut, all } = underWay();
    await undefined;
    try {
      (function forever() {
        filters.bloom.has("key 1");
        forever();
      })();
    } catch {}
    cut();
    const [ribbon, keyed, foreign, built] = await all;
    if (!(ribbon.equals(filters.ribbon) && keyed.equals(filters.keyed))) wrong.push("a load");
    if (!(foreign.equals(filters.foreign) && built.equals(filters.ribbon))) wrong.push("a stream");
    const cutting = function* (its) {
      for (const [i, key] of its.entries()) {
        if (i === its.length >> 1) {
          const depth = room();
          for (let more = 0; more < 300; more += 7) {
            try {
              descend(depth + more - 150, calls.hasOddUrl);
            } catch {}
          }
        }
        yield key;
      }
    };
    const builds = {
      ribbon: () => RibbonFilter.from(cutting(keys)).equals(filters.ribbon),
      foreign: () => ForeignFilter.from(cutting(keys), { format: "guava", funnel: "utf8" }).equals(filters.foreign),
      tagged: () =>
        RibbonFilter.fromTagged({ bad: cutting(lists.bad), worse: cutting(lists.worse) }, { profile: "url" }).equals(
          filters.tagged,
        ),
      allowed: () =>
        RibbonFilter.from(hosts, { profile: "url", fpr: 0.2, allow: cutting(["fine.example"]) }).equals(filters.urls),
      added: () => {
        const filter = BloomFilter.from(keys);
        const added = filter.addMany(cutting(nonmembers));
        return added > 250 && filter.hasAll([...keys, ...nonmembers]);
      },
    };
    for (const [name, build] of Object.entries(builds)) {
      try {
        if (!build()) wrong.push(`${name}, built of keys that cut a call off`);
      } catch (error) {
        wrong.push(`${name}, built of keys that cut a call off: ${error.stack}`);
      }
    }
    check("after what was under way");
  }

  // Globals that throw: at the first, second ... time that they are called.
  const typedArray = Object.getPrototypeOf(Uint8Array.prototype);
  const replaced = [
    [globalThis, "URL"],
    [globalThis, "Uint8Array"],
    [globalThis, "Array"],
    [globalThis, "Map"],
    [globalThis, "Object"],
    [globalThis, "Error"],
    [globalThis, "TextEncoder"],
    [globalThis, "DataView"],
    [TextEncoder.prototype, "encodeInto"],
    [TextDecoder.prototype, "decode"],
    [String.prototype, "normalize"],
    [String.prototype, "toLowerCase"],
    [String.prototype, "charCodeAt"],
    [Array, "from"],
    [Array.prototype, "push"],
    [Object, "is"],
    [Date.prototype, "getTime"],
    [Map.prototype, "set"],
    [typedArray, "set"],
    [typedArray, "subarray"],
    [typedArray, "slice"],
    [DataView.prototype, "setFloat64"],
    [DataView.prototype, "setInt32"],
    [DataView.prototype, "setUint32"],
  ];
  const thrown = [() => new Error("own"), () => new RangeError("own"), () => undefined, () => stale];
  let stale;
  try {
    decode(new Uint8Array(3));
  } catch (error) {
    stale = error;
  }
  met.thrown = 0;
  for (const [object, name] of replaced) {
    // Some runtimes have accessors for globals.
    const {
      value: _,
      get,
      set,
      ...descriptor
    } = Object.getOwnPropertyDescriptor(object, name) ?? { configurable: true };
    const original = object[name];
    for (const [what, call] of Object.entries(calls)) {
      if (only && !only.includes(what)) continue;
      for (let time = 0; time < 3; time++) {
        let left = time;
        let threw = false;
        const value = function (...args) {
          if (left-- === 0) {
            threw = true;
            restore();
            throw thrown[random(thrown.length)]();
          }
          return new.target ? Reflect.construct(original, args, new.target) : Reflect.apply(original, this, args);
        };
        if (typeof original === "function") Object.setPrototypeOf(value, original);
        value.prototype = original.prototype;
        const own = get || set ? { get, set } : { value: original };
        const restore = () => Object.defineProperty(object, name, { ...descriptor, ...own });
        try {
          Object.defineProperty(object, name, { ...descriptor, value });
          call();
        } catch {
          // Whatever it is: the caller has replaced what the package needs.
        } finally {
          restore();
        }
        if (!threw) break;
        met.thrown++;
        check(`after ${what}, when ${name} threw`);
        checkOwn(`after ${what}, when ${name} threw`);
      }
    }
  }
  return { wrong, met, memory, lost: lost.filters };
}
