/** How long one check takes, measured once the visitor pauses, and in slices, so that the page can react. */
import { breathe } from "./page.ts";
import { duration } from "./words.ts";

/** The visitor has paused after this many milliseconds. */
const PAUSE = 300;
/** About how many milliseconds a slice takes, and how many slices there are. */
const SLICE = 5;
const SLICES = 20;
/** How many checks a slice has at most, and the milliseconds between two ticks of the coarsest clock known. */
const MOST = 2 ** 13;
const TICK = 100; // Firefox with privacy.resistFingerprinting

/** Shows how long a check takes; `stop` takes that away. */
export function stopwatch(show: (text: string) => void) {
  let run = 0;
  const stop = () => {
    run++;
    show("");
  };
  return {
    stop,
    async start(check: () => unknown) {
      stop();
      const mine = run;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      let checks = 1;
      // The shortest counts: at first the engine hasn't compiled the code yet, and the machine may be busy.
      let shortest = Number.POSITIVE_INFINITY;
      for (let slices = 0; slices < SLICES; ) {
        await breathe();
        if (run !== mine) return;
        const begun = performance.now();
        for (let i = 0; i < checks; i++) check();
        const elapsed = performance.now() - begun;
        if (elapsed < SLICE / 2 && checks < MOST) {
          checks *= 2; // the clock needs more to tell
          continue;
        }
        shortest = Math.min(shortest, elapsed / checks);
        slices++;
      }
      const time = shortest > 0 ? `about ${duration(shortest)}` : `under ${duration(TICK / MOST)}`;
      show(`One check takes ${time}, measured in a loop.`);
    },
  };
}
