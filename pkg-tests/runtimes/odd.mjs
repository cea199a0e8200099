/**
 * Calls every function of "bloom-wasm", and those of "bloom-wasm/reader" if that is given, with odd values in every
 * place, in any runtime. `foreign` evaluates an expression in another realm. Each place gets every value, or every
 * fifth if `every` is 5, and the next place others. Returns the number of calls and what was wrong: an error that is
 * neither a FilterError nor thrown by the caller's own code, or a changed answer of another filter.
 */
export async function sweep(api, foreign, every = 1, reader = undefined) {
  const { BloomFilter, CountingBloomFilter, CuckooFilter, Filter, FilterError, RibbonFilter, ScalableBloomFilter } =
    api;
  const { ForeignFilter } = api;

  /** Thrown by the caller's own code. */
  const own = new Error("the caller's own");
  const fail = () => {
    throw own;
  };
  const revoked = (target) => {
    const { proxy, revoke } = Proxy.revocable(target, {});
    revoke();
    return proxy;
  };
  const bytes = (...numbers) => new Uint8Array(numbers);
  const detached = () => {
    const array = bytes(1, 2, 3);
    structuredClone(array.buffer, { transfer: [array.buffer] });
    return array;
  };
  const locked = () => {
    const stream = new Blob(["a"]).stream();
    stream.getReader();
    return stream;
  };
  const used = () => {
    const response = new Response("a");
    void response.text();
    return response;
  };
  const freed = () => {
    const filter = BloomFilter.from(["a"]);
    filter.free();
    return filter;
  };
  const rejected = () => {
    const promise = Promise.reject(own);
    promise.catch(() => {});
    return promise;
  };
  // Its constructor exists only in isolated pages.
  const shared = () => new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer;
  const resizable = () => new ArrayBuffer(8, { maxByteLength: 16 });
  const shrunk = () => {
    const buffer = resizable();
    const view = new Uint8Array(buffer, 4, 4);
    buffer.resize?.(2);
    return view;
  };
  const values = {
    undefined: () => undefined,
    null: () => null,
    NaN: () => NaN,
    zero: () => 0,
    "minus one": () => -1,
    half: () => 0.5,
    "2^53": () => 2 ** 53,
    infinite: () => Infinity,
    bigint: () => 5n,
    "negative bigint": () => -1n,
    true: () => true,
    "empty string": () => "",
    string: () => "a",
    surrogate: () => "\ud800",
    "long string": () => "x".repeat(3_000_000),
    symbol: () => Symbol("odd"),
    function: () => () => {},
    object: () => ({}),
    "no prototype": () => Object.create(null),
    array: () => [],
    "array of null": () => [null],
    "sparse array": () => new Array(3),
    date: () => new Date(0),
    "invalid date": () => new Date(NaN),
    set: () => new Set(["a"]),
    map: () => new Map([["a", 1]]),
    regexp: () => /a/,
    error: () => new Error("a"),
    promise: () => Promise.resolve(),
    rejection: rejected,
    "throwing getters": () => new Proxy({}, { get: fail }),
    "throwing traps": () => new Proxy({}, { get: fail, has: fail, getPrototypeOf: fail, ownKeys: fail }),
    "throwing conversions": () => ({ toString: fail, valueOf: fail, [Symbol.toPrimitive]: fail }),
    "throwing iterator": () => ({ [Symbol.iterator]: fail }),
    "throwing next": () => ({ [Symbol.iterator]: () => ({ next: fail }) }),
    "throwing generator": () =>
      (function* () {
        yield "a";
        fail();
      })(),
    "iterator that is none": () => ({ [Symbol.iterator]: 5, [Symbol.asyncIterator]: 5 }),
    "revoked Proxy": () => revoked({}),
    "revoked Proxy of an array": () => revoked([]),
    "revoked Proxy of a function": () => revoked(() => {}),
    "Proxy of bytes": () => new Proxy(bytes(97), {}),
    "Proxy of a filter": () => new Proxy(BloomFilter.from(["a"]), {}),
    "freed filter": freed,
    filter: () => RibbonFilter.from(["a"]),
    bytes: () => bytes(97),
    "no bytes": () => bytes(),
    buffer: () => new ArrayBuffer(4),
    "detached bytes": detached,
    "detached buffer": () => detached().buffer,
    "shared bytes": () => new Uint8Array(shared(), 0, 9),
    "shared buffer": shared,
    "resizable bytes": () => new Uint8Array(resizable()),
    "resizable buffer": resizable,
    "shrunk bytes": shrunk,
    words: () => new Uint16Array(2),
    view: () => new DataView(new ArrayBuffer(2)),
    "foreign bytes": () => foreign("new Uint8Array([97])"),
    "foreign buffer": () => foreign("new ArrayBuffer(9)"),
    "foreign array": () => foreign("['a']"),
    "foreign date": () => foreign("new Date(0)"),
    "foreign error": () => foreign("new Error('a')"),
    blob: () => new Blob(["a"]),
    response: () => new Response("a"),
    "used response": used,
    "response-like": () => ({ ok: true }),
    "response of no stream": () => ({ ok: true, body: 5 }),
    "blob of no stream": () => ({ stream: () => 5 }),
    "promise of nothing": () => Promise.resolve({ ok: 5 }),
    request: () => new Request("data:,a"),
    "request-like": () => ({ url: "data:,a" }),
    "URL-like": () => ({ href: "data:,a" }),
    url: () => new URL("http://a.b/"),
    "Proxy of a URL": () => new Proxy(new URL("http://a.b/"), {}),
    "Proxy of a response": () => new Proxy(new Response("a"), {}),
    stream: () => new Blob(["a"]).stream(),
    "locked stream": locked,
    "stream of numbers": () =>
      new ReadableStream({ start: (controller) => (controller.enqueue(5), controller.close()) }),
    signal: () => new AbortController().signal,
    aborted: () => AbortSignal.abort(own),
    "signal-like": () => ({ throwIfAborted() {} }),
    "global object": () => globalThis,
  };

  const blob = BloomFilter.from(["a"]).toBytes();
  const text = () => new Blob(["a\nb"]).stream();
  const bloom = () => new BloomFilter(100, 3);
  const urls = RibbonFilter.from(["evil.example"], { profile: "url" });
  const passwords = RibbonFilter.from(["password"], { profile: "password" });
  const guava = (funnel = "utf8", keys = ["a"]) => ForeignFilter.from(keys, { format: "guava", funnel });
  /** Each function, with valid arguments. If the last one is an object of options, each option is a place, too. */
  const calls = {
    decode: [api.decode, blob],
    load: [
      api.load,
      blob,
      {
        ...{ signal: undefined, onProgress: undefined, maxBytes: 1e6, timeout: undefined },
        ...{ integrity: undefined, fetch: undefined, secret: undefined },
      },
    ],
    "decode, format": [api.decode, guava().toForeign(), { format: "guava", funnel: "utf8", profile: "raw" }],
    "load, format": [api.load, guava().toForeign(), { format: "guava", funnel: "utf8", profile: "raw", maxBytes: 1e6 }],
    "ForeignFilter.decode": [(...args) => ForeignFilter.decode(...args), guava().toForeign(), { format: "guava" }],
    "ForeignFilter.decode, this": [(its) => ForeignFilter.decode.call(its, guava().toBytes()), ForeignFilter],
    "ForeignFilter.load": [(...args) => ForeignFilter.load(...args), guava().toForeign(), { format: "guava" }],
    "ForeignFilter.from": [
      (...args) => ForeignFilter.from(...args),
      ["a"],
      { format: "spark", keys: "string", layout: "v2", seed: 1, fpr: 0.1, capacity: 9, bits: 64, hashes: 1 },
    ],
    "ForeignFilter.from, numbers": [
      (...args) => ForeignFilter.from(...args),
      [1n],
      { format: "guava", funnel: "long" },
    ],
    "new ForeignFilter": [(...args) => new ForeignFilter(...args), 9],
    optimal: [api.optimal, 10, 0.1],
    fprFor: [api.fprFor, 10, 100, 3],
    countFor: [api.countFor, 100, 0.1],
    canonicalizeUrl: [api.canonicalizeUrl, "a.b"],
    urlExpressions: [api.urlExpressions, "a.b"],
    "new BloomFilter": [(...args) => new BloomFilter(...args), 9, 2, { seed: 1n }],
    "new CountingBloomFilter": [(...args) => new CountingBloomFilter(...args), 9, 2, { counterBits: 4 }],
    "new ScalableBloomFilter": [
      (...args) => new ScalableBloomFilter(...args),
      { fpr: 0.1, initialCapacity: 9, growth: 2, tightening: 0.5 },
    ],
    "new CuckooFilter": [(...args) => new CuckooFilter(...args), 9],
    "new RibbonFilter": [(...args) => new RibbonFilter(...args), 9],
    "new Filter": [(...args) => new Filter(...args), 9],
  };
  if (reader) {
    calls["the reader's decode"] = [reader.decode, blob, { secret: undefined }];
    calls["the reader's load"] = [reader.load, ...calls.load.slice(1)];
  }
  for (const made of [BloomFilter, CountingBloomFilter, CuckooFilter, RibbonFilter, ScalableBloomFilter]) {
    calls[`${made.name}.decode`] = [(...args) => made.decode(...args), made.from(["a"]).toBytes()];
    calls[`${made.name}.decode, this`] = [(its) => made.decode.call(its, blob), made];
    calls[`${made.name}.load, this`] = [(its) => made.load.call(its, blob), made];
    const list = {
      profile: "url",
      lowercase: undefined,
      sha1: undefined,
      minLength: 0,
      minCount: 0,
      allow: ["b.example"],
      allowWins: true,
      onSkip() {},
      onConflict() {},
    };
    calls[`${made.name}.from`] = [
      (...args) => made.from(...args),
      ["a.example"],
      { ...list, fpr: 0.1, seed: 1n, name: "n", createdAt: 1 },
    ];
    calls[`${made.name}.fromStream`] = [
      (...args) => made.fromStream(...args),
      text,
      { signal: undefined, onProgress: undefined, fpr: 0.1 },
    ];
    if (made.withCapacity)
      calls[`${made.name}.withCapacity`] = [(...args) => made.withCapacity(...args), 9, 0.1, { seed: 1n }];
  }
  const methods = {
    has: ["a"],
    hasAny: [["a"]],
    hasAll: [["a"]],
    hasMany: [["a"]],
    hasLines: [bytes(97)],
    hasUrl: ["a.b"],
    matchUrl: ["a.b"],
    hasPassword: ["a"],
    info: [],
    toJSON: [],
    toBytes: [],
    equals: [bloom],
    clone: [],
    add: ["a"],
    addMany: [["a"]],
    addLines: [bytes(97)],
    clear: [],
    remove: ["a"],
    count: ["a"],
    toBloom: [],
    union: [bloom],
    intersect: [bloom],
    locations: ["a"],
    toForeign: [],
    free: [],
  };
  const read = [bloom(), urls, passwords].map((filter) => filter.toBytes());
  const filters = [
    bloom,
    () => CountingBloomFilter.from(["a"]),
    () => CuckooFilter.from(["a"]),
    () => urls.clone(),
    () => passwords.clone(),
    () => guava(),
    () => guava("long", [1]),
    ...(reader ? read.map((bytes) => () => reader.decode(bytes)) : []),
  ];
  for (const [method, args] of Object.entries(methods)) {
    for (const [i, make] of filters.entries()) {
      if (!make()[method]) continue;
      const name = `${make().kind}, filter ${i}.${method}`;
      calls[name] = [(...args) => make()[method](...args), ...args];
      calls[`${name}, this`] = [(its, ...args) => make()[method].call(its, ...args), make, ...args];
    }
  }

  const control = BloomFilter.from(["in"], { fpr: 1e-9 });
  const wrong = [];
  let count = 0;
  let place = 0;
  const attempt = async (name, run, args, odd) => {
    count++;
    try {
      await run(
        ...args.map((value, i) =>
          typeof value === "function" && i !== odd && !name.includes(", this") ? value() : value,
        ),
      );
    } catch (error) {
      // Revoked proxies, and objects with another object's methods, throw the engine's own error when they are used.
      const itsOwn = error === own || /revoked/.test(error?.message) || name.endsWith("Proxy of bytes");
      const allowed = itsOwn || (error instanceof FilterError && error.code !== "wasm_load");
      if (!allowed) wrong.push(`${name}: ${error?.stack ?? String(error)}`);
    }
    if (!control.has("in") || control.has("out")) wrong.push(`${name}: the control filter answers wrong`);
  };
  for (const [name, [run, ...args]] of Object.entries(calls)) {
    const right = args.map((value) =>
      typeof value === "function" && name.includes(", this") && value.prototype === undefined ? value() : value,
    );
    for (const [i, value] of right.entries()) {
      const isOptions = typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;
      for (const option of [undefined, ...(isOptions ? Object.keys(value) : [])]) {
        const at = place++;
        for (const [n, [oddity, make]] of Object.entries(values).entries()) {
          if ((n + at) % every) continue;
          const odd = option === undefined ? make() : { ...value, [option]: make() };
          const where = option ?? `argument ${i}`;
          await attempt(`${name}, ${where}: ${oddity}`, run, Object.assign([...right], { [i]: odd }), i);
        }
      }
    }
  }
  return { count, wrong };
}
