/** Which of many cases the first tier takes. */

/** Whether a case is taken: every one if EVERY is 1, as in the long tier, and otherwise each `every`th. */
export const turn = (number, every) => number % Number(process.env.EVERY ?? every) === 0;
