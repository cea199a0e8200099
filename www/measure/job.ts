/** What the page and its worker both know: the contestants, and how much work a job is. */

/** The contestants, in the order of the table. */
export const names = {
  ribbon: "ribbon",
  read: "ribbon, by the reader",
  bloom: "bloom",
  cuckoo: "cuckoo",
  scalable: "scalable",
  counting: "counting",
  plain: "40 lines of JavaScript",
  set: "Set",
};

export const order = Object.values(names);

export interface Job {
  count: number;
  rounds: number;
}

/** The least number of questions in a turn. Few keys are asked for several times over, because a browser's clock is coarse. */
export const LEAST = 100_000;

/**
 * How many steps of a job take as long as one question: to make a contestant, which takes about as long as to ask it for
 * as many keys; a turn; and all. The first round warms up.
 */
export function steps({ count, rounds }: Job) {
  const turn = Math.max(count, LEAST);
  return { make: count, turn, all: order.length * (count + (rounds + 1) * turn) };
}
