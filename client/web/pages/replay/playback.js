/** Plays the moves of a match one after the other, at a speed that the user chooses. */

/** The speeds: a title, and the time for which a position is shown, in ms, or null for the time that the move took. */
export const SPEEDS = /** @type {const} */ ({
    slow: { title: "Slow", step_ms: 2500 },
    normal: { title: "Normal", step_ms: 1200 },
    fast: { title: "Fast", step_ms: 450 },
    played: { title: "As played", step_ms: null },
});
/** @typedef {keyof typeof SPEEDS} Speed */

/** The shortest time for which a position is shown at the speed "As played", in ms. */
const MIN_STEP_MS = 250;
/** The longest time for which a position is shown at the speed "As played", in ms. */
const MAX_STEP_MS = 10_000;

export class Playback {
    #step;
    #update;
    /** @type {Speed} */
    #speed = "normal";
    #timer = 0;

    /**
     * @param {() => number | null} step shows the next position; returns the time that the move after
     *     it took, in ms, and null at the end
     * @param {() => void} update draws the page again
     */
    constructor(step, update) {
        this.#step = step;
        this.#update = update;
    }

    get isPlaying() {
        return this.#timer !== 0;
    }

    get speed() {
        return this.#speed;
    }

    /** @param {Speed} speed */
    setSpeed(speed) {
        this.#speed = speed;
        this.#update();
    }

    /**
     * Starts to play; the first step comes after the time of the speed.
     * @param {number} spent_ms the time that the next move took
     */
    start(spent_ms) {
        this.stop();
        this.#wait(spent_ms);
        this.#update();
    }

    stop() {
        clearTimeout(this.#timer);
        this.#timer = 0;
        this.#update();
    }

    /** @param {number} spent_ms */
    #wait(spent_ms) {
        const { step_ms } = SPEEDS[this.#speed];
        this.#timer = window.setTimeout(() => this.#next(), step_ms ?? boundedStep(spent_ms));
    }

    #next() {
        const spent_ms = this.#step();
        this.#timer = 0;
        if (spent_ms !== null) this.#wait(spent_ms);
        this.#update();
    }
}

/**
 * The time for which a position is shown whose next move took `spent_ms`.
 * @param {number} spent_ms
 */
export function boundedStep(spent_ms) {
    return Math.min(MAX_STEP_MS, Math.max(MIN_STEP_MS, spent_ms));
}
