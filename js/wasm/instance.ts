/**
 * The instance of the WebAssembly module: calls into it, what it holds for others, and how all of that goes on in a new
 * instance after a call that was cut off.
 *
 * A call is cut off when the stack runs out, or when something throws that JavaScript has replaced, such as `URL`. What it
 * leaves behind can't be trusted: the stack pointer, borrowed memory, an allocator that may be halfway through a change.
 * So the next call first hands over what the instance holds, without allocating there, and drops it.
 */

import { abandon, scratch as growScratch, type InitOutput, initSync } from "../bloom_wasm.js";
import { FilterError, isReturned } from "../error.js";
import { kept } from "../saved.js";

/** In V8 and others: makes a stack trace begin with the caller of a function. */
const { captureStackTrace } = Error as { captureStackTrace?: (error: Error, callee: unknown) => void };

/** Whether a call can begin at once. */
let isReady = false;

/** Whether a call was cut off. */
let isBroken = false;

/** What the present instance exports. Undefined until the first has started. */
let exports: InitOutput | undefined;

/** How many instances there were before. */
let before = 0;

/** Makes the first instance. */
let start = (): InitOutput => {
  throw new FilterError("wasm_load", "WebAssembly has not started; call init() or initSync() first");
};

/** Whether that was tried. */
let wasTried = false;

/** Called for each instance, with its memory. */
let useMemory = (_: WebAssembly.Memory) => {};

/** Whether there is an instance. */
export function isStarted(): boolean {
  return exports !== undefined;
}

/** Says how the first instance is made, when it is needed. */
export function startBy(run: typeof start): void {
  start = run;
}

/** Makes the first instance at once. If that fails, it is as if nothing had been said. */
export function startNow(run: typeof start): void {
  const other = start;
  start = run;
  try {
    prepare();
  } catch (error) {
    start = other;
    throw error;
  }
}

/** Says what is to be done with the memory of each instance. */
export function withMemory(use: typeof useMemory): void {
  useMemory = use;
}

/** Makes calls possible, in the first instance or a new one. Throws if they aren't. */
export function prepare(): void {
  if (isBroken) {
    requireStack(200);
    renew();
  } else if (exports === undefined) {
    requireStack(200);
    const isSecond = wasTried;
    wasTried = true;
    const started = start();
    // wasm-bindgen takes an instance that has failed halfway for one that has started.
    if (isSecond) renew();
    else exports = started;
  } else {
    throw new FilterError("wasm_load", "a call into WebAssembly came from within another");
  }
  useMemory(exports!.memory);
  isBroken = false;
  isReady = true;
}

/** Throws a RangeError here, rather than in the middle of what follows, if the stack is about to run out. */
function requireStack(calls: number): number {
  return calls > 0 ? 1 + requireStack(calls - 1) : 0;
}

/** Moves everything into a new instance. If that fails, the next call tries again, and goes on from there. */
function renew(): void {
  const shared = new Map<number, Saved>();
  for (const reference of live) {
    const held = reference.deref();
    if (held === undefined) live.delete(reference);
    else held.save(shared);
  }
  try {
    abandon();
    // wasm-bindgen makes the instance before the next call, whichever that is.
    growScratch(0);
  } catch (cause) {
    throw new FilterError("wasm_load", `a call was cut off, and WebAssembly can't start again (${cause})`, { cause });
  }
  // That returns the exports of the instance that is there.
  exports = initSync({ module: new Uint8Array(0) });
  before++;
}

/**
 * Runs a function that calls into WebAssembly and does nothing else. An error that Rust returned is a
 * {@link FilterError}. Anything else was thrown midway through the call, and goes to the caller as it is.
 */
export function call<T>(run: () => T): T {
  return ask(run, undefined, 0);
}

/**
 * The same, for questions about a key in the scratch. Their functions close over nothing, which saves 10 to 40 ns of
 * 200.
 */
export function ask<Raw, T>(question: (raw: Raw, length: number) => T, raw: Raw, length: number): T {
  if (!isReady) prepare();
  isReady = false;
  try {
    const answer = question(raw, length);
    isReady = true;
    return answer;
  } catch (error) {
    // First, because once the stack has run out, the next call of any function may throw.
    isBroken = true;
    if (isReturned(error)) {
      isBroken = false;
      isReady = true;
      // A stack trace shows ten calls, and those inside WebAssembly would crowd out the user's own.
      captureStackTrace?.(error as Error, ask);
    }
    throw error;
  }
}

/** What WebAssembly can hold. */
interface Raw {
  free(): void;
  /** Hands over what it is to `saved.js`; false if a change was cut off. */
  save(): boolean;
  /** What tells those apart that share their memory: clones, of which none was changed. 0 for one that shares nothing. */
  sharing?(): number;
  clone?(): Raw;
}

/** What an instance handed over. */
interface Saved {
  bytes: Uint8Array;
  /** Whether others have the same. */
  isShared: boolean;
}

/** Frees what WebAssembly holds, if a call can begin. Otherwise the memory is dropped with the instance. */
export function release(raw: Raw): void {
  if (isReady) call(() => raw.free());
}

/** Makes a change to what is new, and frees it if that fails. */
export function restored<R extends Raw>(raw: R, change: (raw: R) => void): R {
  try {
    call(() => change(raw));
    return raw;
  } catch (error) {
    release(raw);
    throw error;
  }
}

// Cloudflare has these only since 2025-05-05, and by the compatibility date of a Worker. Without them, what isn't freed
// stays forever.
const { WeakRef: Weak, FinalizationRegistry: Finalizers } = globalThis as Partial<typeof globalThis>;

/** All that is held. */
const live = new Set<Pick<WeakRef<Held<Raw>>, "deref">>();

const finalizers =
  Finalizers &&
  new Finalizers<{ raw: Raw; instance: number; reference: WeakRef<Held<Raw>> }>(({ raw, instance, reference }) => {
    live.delete(reference);
    if (instance === before) release(raw);
  });

/** Something that WebAssembly holds. It outlives the instance that it began in. */
export class Held<R extends Raw> {
  /** What the present instance has. */
  #raw: R | undefined;
  /** What an earlier one handed over. */
  #saved: Saved | undefined;
  /** Why there is neither. */
  #lost: FilterError | undefined;
  readonly #restore: (saved: Uint8Array) => R;
  readonly #reference = Weak ? new Weak(this) : { deref: () => this };

  /** `restore` makes it in a new instance, of what it handed over. */
  constructor(raw: R, restore: (saved: Uint8Array) => R) {
    this.#restore = restore;
    this.#hold(raw);
    live.add(this.#reference);
  }

  /** For one call: after anything else that may call, read it again. */
  get raw(): R {
    if (!isReady) prepare();
    return this.#raw ?? this.#restored();
  }

  /** Runs a call into WebAssembly with it, as {@link call} does. */
  call<T>(run: (raw: R) => T): T {
    const { raw } = this;
    return call(() => run(raw));
  }

  #hold(raw: R): R {
    this.#raw = raw;
    finalizers?.register(this, { raw, instance: before, reference: this.#reference as WeakRef<this> }, this);
    return raw;
  }

  #restored(): R {
    const saved = this.#saved;
    if (saved === undefined) throw this.#lost ?? new FilterError("freed", "this filter was freed");
    const raw = this.#hold(this.#restore(saved.bytes));
    this.#saved = undefined;
    if (saved.isShared) for (const reference of live) reference.deref()?.share(saved, raw);
    return raw;
  }

  /** Shares the memory of another that was handed over with this. */
  share(saved: Saved, other: Raw): void {
    if (this.#saved !== saved) return;
    this.#hold(call(() => other.clone!() as R));
    this.#saved = undefined;
  }

  /** Takes it out of an instance in which a call was cut off, unless it comes with one of those that are `shared`. */
  save(shared: Map<number, Saved>): void {
    const raw = this.#raw;
    if (raw === undefined) return;
    const sharing = raw.sharing?.() ?? 0;
    let saved = shared.get(sharing);
    if (saved) saved.isShared = true;
    else if (this.#isWhole(raw)) {
      const bytes = kept();
      if (bytes === undefined)
        throw new FilterError("too_large", "a call was cut off, and there is no memory to go on from there");
      saved = { bytes, isShared: false };
      if (sharing !== 0) shared.set(sharing, saved);
    }
    this.#saved = saved;
    finalizers?.unregister(this);
    this.#raw = undefined;
  }

  /** Hands it over. False if that will never be possible; throws if it may be later. */
  #isWhole(raw: R): boolean {
    let cause: unknown;
    try {
      // Drops what an attempt left that was cut off, too.
      kept();
      if (raw.save()) return true;
    } catch (error) {
      // wasm-bindgen's words for one that a cut-off call still has. Anything else was thrown by JavaScript.
      const isBorrowed = String(Object(error).message).startsWith("recursive use of an object");
      if (!isBorrowed && !(error instanceof WebAssembly.RuntimeError)) throw error;
      cause = error;
    }
    this.#lost = new FilterError("wasm_load", "it was being changed when a call was cut off, and is lost", { cause });
    return false;
  }

  free(): void {
    const raw = this.#raw;
    this.#raw = undefined;
    this.#saved = undefined;
    finalizers?.unregister(this);
    live.delete(this.#reference);
    if (raw !== undefined) release(raw);
  }
}
