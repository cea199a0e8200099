import { constants } from "node:os";

/**
 * From now on, a signal that ends the program first removes the temporary file, and then the lock.
 *
 * @param {import("./temporary.js").Temporary} temporary
 * @param {import("./temporary.js").Temporary} lock
 */
export function watch(temporary, lock) {
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK"])) {
    process.once(signal, () => {
      // Held for good, so that no file gets its final name after this.
      temporary.hold();
      temporary.remove();
      lock.remove();
      // The listener is gone now, so the signal does what it does to any program.
      process.kill(process.pid, signal);
      // A container's first process is not ended by that. This waits for the other thread if it waits for input.
      process.exit(128 + constants.signals[signal]);
    });
  }
}
