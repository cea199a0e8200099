/**
 * Racing: every contestant runs once in each round, in a rotating order, so that a noisy machine is noisy for all. The
 * clock is the processor time of this process if available: other processes distort it less than wall time.
 */

/** The clock, in nanoseconds. */
export function clock() {
  if (!globalThis.process) return performance.now() * 1e6;
  const { user, system } = process.cpuUsage();
  return (user + system) * 1e3;
}

/** Reports progress on standard error, if there is one. The tables are on standard output. */
export function tell(text) {
  globalThis.process?.stderr?.write(`bench: ${text}\n`);
}

/**
 * A loop over keys that counts those for which `expression` holds; it can use `filter` and `key`. Each contestant needs
 * its own loop: V8 would compile a shared one for all filters, and make it slow for each.
 */
export function loop(expression) {
  return new Function("filter", "keys", `let sum = 0; for (const key of keys) if (${expression}) sum++; return sum;`);
}

/**
 * Runs the contestants `rounds` times, and once before to warm up. Each has a name and either `run`, which goes through
 * `keys` keys, or `time`, which warms up and returns the nanoseconds per key. The result of `run`, or of `check` for
 * that result outside the timed part, must be the same each time. Returns the nanoseconds per key for each round, by
 * name.
 */
export async function race(contestants, rounds) {
  const times = Object.fromEntries(contestants.map(({ name }) => [name, []]));
  const answers = new Map();
  for (let round = -1; round < rounds; round++) {
    for (let i = 0; i < contestants.length; i++) {
      const { name, keys, run, time, check = (answer) => answer } = contestants.at((i + round) % contestants.length);
      if (time && round < 0) continue;
      tell(`${round < 0 ? "warming up" : `round ${round + 1} of ${rounds}`}: ${name}`);
      // This contestant shouldn't collect the garbage of the last one.
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
