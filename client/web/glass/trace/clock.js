/** A clock with timers; tests pass one that they advance by hand. */

/** @typedef {{now: () => number, after: (ms: number, callback: () => void) => number, cancel: (timer: number) => void}} Clock */

/** The browser's clock. @type {Clock} */
export const windowClock = {
    now: () => performance.now(),
    after: (ms, callback) => window.setTimeout(callback, ms),
    cancel: (timer) => window.clearTimeout(timer),
};
