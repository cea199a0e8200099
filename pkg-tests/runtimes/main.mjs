/** The main script where an import can wait until it is asked for, so that its time is known: scripts, pages, workers. */
globalThis.cases = async (golden) => {
  const first = performance.now();
  const { verdict } = await import("./app.mjs");
  return verdict(golden, first);
};
