/** How many of many cases a tier takes. */

/** The number in a variable of the environment, or `usual` without it. Without this check, 0 would test nothing. */
export function given(variable, usual) {
  const number = Number(process.env[variable] ?? usual);
  if (number > 0 && (Number.isInteger(number) || number === Infinity)) return number;
  throw new Error(`${variable} must be a whole number above 0, or Infinity, not ${process.env[variable]}`);
}

/** Whether a case is taken: every one if EVERY is 1, as in the long tier, and otherwise each `every`th. */
export const turn = (number, every) => number % given("EVERY", every) === 0;
