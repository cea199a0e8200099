/** Which cases of a long row the first tier takes. */

/** Whether a case has its turn: each does if EVERY is 1, as in the long tier, and otherwise one of so many. */
export const turn = (number, every) => number % Number(process.env.EVERY ?? every) === 0;
