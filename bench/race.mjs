/**
 * Racing: every contestant once in each round, in an order that rotates, so that a noisy machine is noisy for all. The clock is
 * the processor's time of this process, where it can be had: other processes lengthen that less than the time on the wall.
 */

/** Nanoseconds up to now. */
export function clock() {
  if (!globalThis.process) return performance.now() * 1e6;
  const { user, system } = process.cpuUsage();
  return (user + system) * 1e3;
}

/**
 * A loop over keys that counts for how many `expression` holds; it knows `filter` and `key`. Each contestant needs one
 * compiled for itself: V8 would make one function fit all filters, and slow for each.
 */
export function loop(expression) {
  return new Function("filter", "keys", `let sum = 0; for (const key of keys) if (${expression}) sum++; return sum;`);
}

/**
 * Runs the contestants `rounds` times, and once before to warm up. Each has a name and either `run`, which goes through `keys`
 * keys, or `time`, which gives nanoseconds a key itself and warms up itself. What `run` returns, or `check` makes of it beside the clock, must
 * be the same each time. Returns the nanoseconds a key of each round by name.
 */
export async function race(contestants, rounds) {
  const times = Object.fromEntries(contestants.map(({ name }) => [name, []]));
  const answers = new Map();
  for (let round = -1; round < rounds; round++) {
    for (let i = 0; i < contestants.length; i++) {
      const { name, keys, run, time, check = (answer) => answer } = contestants.at((i + round) % contestants.length);
      if (time && round < 0) continue;
      // What the last one left lying around isn't to be swept up by this one.
      globalThis.gc?.({ type: "minor" });
      let taken;
      if (time) {
        taken = await time();
      } else {
        const start = clock();
        const result = run();
        taken = (clock() - start) / keys;
        const answer = check(result);
        if (!answers.has(name)) answers.set(name, answer);
        else if (answers.get(name) !== answer)
          throw new Error(`${name} answered ${answer}, and before ${answers.get(name)}`);
      }
      if (round >= 0) times[name].push(taken);
    }
  }
  return times;
}
