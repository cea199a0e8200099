import { constants } from "node:os";

/**
 * From now on a signal that ends the program first takes the temporary file away, and then the lock.
 *
 * @param {import("./temporary.js").Temporary} temporary
 * @param {import("./temporary.js").Temporary} lock
 */
export function watch(temporary, lock) {
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK"])) {
    process.once(signal, () => {
      // Never let go, so that nothing gets its final name after this.
      temporary.hold();
      temporary.remove();
      lock.remove();
      // It was listened to once: this time it does what it does to any program.
      process.kill(process.pid, signal);
      // The first process of a container is not ended by that. This waits for the other thread if that waits for input.
      process.exit(128 + constants.signals[signal]);
    });
  }
}
