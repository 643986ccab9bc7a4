/**
 * The bar of controls of a search: buttons, a slider, keys, and a timer that plays the steps. It knows
 * neither the trace nor its drawing.
 *
 * @import {App} from "../../shell/app.js"
 * @import {VNode} from "../../shell/elements.js"
 * @import {Clock} from "../trace/clock.js"
 * @import {Unit} from "../trace/walk.js"
 */

import { h } from "../../shell/elements.js";
import { keyOf } from "../../shell/keys.js";
import { windowClock } from "../trace/clock.js";
import { countText } from "../text/notation.js";

/**
 * The object of the controls. `text` is the announcement to screen readers after a step.
 * @typedef {object} Controlled
 * @property {Pick<App, "update" | "announce">} app
 * @property {() => number} count the last step
 * @property {() => number} step the shown step
 * @property {(step: number) => void} go shows another step
 * @property {(step: number, unit: Unit, direction: 1 | -1) => number} next
 * @property {() => string} [text]
 */
/** A button: its unit, its direction, the icon's path, its name, and the word below the icon. @typedef {[Unit, 1 | -1, string, string, string]} Button */

/** The speeds, in steps a second. */
export const SPEEDS = [0.5, 1, 2, 4, 8, 16, 32];
/** The index of the first speed. */
const FIRST_SPEED = 2;
/** While the steps play, screen readers get at most one announcement in this time. */
const ANNOUNCE_MS = 4000;

/** @type {Button[]} */
const BACK = [
    ["end", -1, "M4 3.5v9M12.5 3.5 7 8l5.5 4.5z", "Start: first step", "start"],
    ["cut", -1, "M6.5 3.5 2 8l4.5 4.5M10 3l4 10", "Previous cut-off", "cut"],
    ["node", -1, "M6.5 3.5 2 8l4.5 4.5M12 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5z", "Previous node", "node"],
    ["step", -1, "M10.5 3.5 5 8l5.5 4.5z", "One step back", "back"],
];
/** @type {Button[]} */
const FORWARD = [
    ["step", 1, "M5.5 3.5 11 8l-5.5 4.5z", "One step forward", "step"],
    ["node", 1, "M9.5 3.5 14 8l-4.5 4.5M4 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5z", "Next node", "node"],
    ["cut", 1, "M9.5 3.5 14 8l-4.5 4.5M2 3l4 10", "Next cut-off", "cut"],
    ["end", 1, "M12 3.5v9M3.5 3.5 9 8l-5.5 4.5z", "End: last step", "end"],
];
const PLAY = "M4.5 3v10l8.5-5z";
const PAUSE = "M5 3v10M11 3v10";
/** The movement of each key. @type {Record<string, [Unit, 1 | -1]>} */
const KEYS = {
    ArrowLeft: ["step", -1],
    ArrowRight: ["step", 1],
    "Shift+ArrowLeft": ["node", -1],
    "Shift+ArrowRight": ["node", 1],
    p: ["cut", -1],
    n: ["cut", 1],
    Home: ["end", -1],
    End: ["end", 1],
};
/** The keys and what they do. @type {[string[], string][]} */
const KEYS_HELP = [
    [["←", "→"], "one step back or forward"],
    [["Shift", "← →"], "the previous or next node"],
    [["p", "n"], "the previous or next cut-off"],
    [["Home", "End"], "the first or last step"],
    [["Space"], "play and pause"],
    [["−", "+"], "play slower or faster"],
    [["v"], "windows, intervals or bounds"],
    [["?"], "this list"],
    [["← ↑ ↓ →"], "within the tree: from node to node"],
];

export class Controls {
    #controlled;
    #clock;
    #speed = FIRST_SPEED;
    /** The timer of the next step while the steps play. @type {number | null} */
    #timer = null;
    /** The time of the last announcement to screen readers. */
    #announced_ms = -Infinity;

    /**
     * @param {Controlled} controlled
     * @param {Clock} [clock]
     */
    constructor(controlled, clock = windowClock) {
        this.#controlled = controlled;
        this.#clock = clock;
    }

    get isPlaying() {
        return this.#timer !== null;
    }

    /** Stops playing. */
    stop() {
        if (this.#timer !== null) this.#clock.cancel(this.#timer);
        this.#timer = null;
    }

    /** Plays the steps, from the start if the last one is shown; or pauses. */
    togglePlay() {
        if (this.isPlaying) {
            this.stop();
            this.#announce();
            this.#controlled.app.update();
            return;
        }
        if (this.#controlled.step() >= this.#controlled.count()) this.#controlled.go(0);
        this.#schedule();
        this.#controlled.app.update();
    }

    #schedule() {
        this.#timer = this.#clock.after(1000 / SPEEDS[this.#speed], () => this.#playStep());
    }

    #playStep() {
        const { step, count, go, app } = this.#controlled;
        this.#timer = null;
        go(Math.min(step() + 1, count()));
        if (step() < count()) this.#schedule();
        this.#announce();
        app.update();
    }

    /** Announces the step to screen readers; rarely while the steps play. */
    #announce() {
        const { text, app } = this.#controlled;
        const now_ms = this.#clock.now();
        if (!text || (this.isPlaying && now_ms - this.#announced_ms < ANNOUNCE_MS)) return;
        this.#announced_ms = now_ms;
        app.announce(text());
    }

    /**
     * @param {Unit} unit
     * @param {1 | -1} direction
     */
    #move(unit, direction) {
        const { step, next } = this.#controlled;
        this.#go(next(step(), unit, direction));
    }

    /** @param {number} step */
    #go(step) {
        this.stop();
        this.#controlled.go(step);
        this.#announce();
        this.#controlled.app.update();
    }

    /** @param {number} change */
    #changeSpeed(change) {
        this.#speed = Math.max(0, Math.min(SPEEDS.length - 1, this.#speed + change));
        this.#controlled.app.announce(speedText(SPEEDS[this.#speed]));
        this.#controlled.app.update();
    }

    /**
     * Handles a key; returns whether it did.
     * @param {KeyboardEvent} event
     */
    onKey(event) {
        if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return false;
        const move = KEYS[event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : keyOf(event)];
        if (move) this.#move(...move);
        else if (!this.#doKey(event)) return false;
        event.preventDefault();
        return true;
    }

    /** @param {KeyboardEvent} event */
    #doKey({ key, target }) {
        const isOnButton = target instanceof Element && target.closest("button, a, summary, [role=button]") !== null;
        if (key === " " && !isOnButton) this.togglePlay();
        else if (key === "+" || key === "=") this.#changeSpeed(1);
        else if (key === "-") this.#changeSpeed(-1);
        else if (key === "?") void openKeys();
        else return false;
        return true;
    }

    /** @returns {VNode} */
    draw() {
        return h(
            "div",
            { class: "glass-controls", role: "group", "aria-label": "Steps of the search" },
            this.#drawSlider(),
            h("div", { class: "step-buttons" }, BACK.map((button) => this.#drawButton(button)), this.#drawPlay(), FORWARD.map((button) => this.#drawButton(button))),
            this.#drawSpeed(),
        );
    }

    #drawSlider() {
        const { step, count } = this.#controlled;
        const text = `Step ${countText(step())} of ${countText(count())}`;
        const slide = (/** @type {Event} */ event) =>
            event.currentTarget instanceof HTMLInputElement && this.#go(Number(event.currentTarget.value));
        return h(
            "div",
            { class: "place" },
            h("input", { type: "range", min: 0, max: count(), ".value": String(step()), "aria-label": "Step", "aria-valuetext": text, oninput: slide }),
            h("span", { class: "position" }, text),
        );
    }

    /** @param {Button} button */
    #drawButton([unit, direction, path, name, word]) {
        const { step, count } = this.#controlled;
        const isAtEnd = direction > 0 ? step() >= count() : step() <= 0;
        const attributes = {
            key: name,
            class: "go",
            "aria-label": name,
            title: name,
            "aria-disabled": isAtEnd,
            onclick: () => this.#move(unit, direction),
        };
        return h("button", attributes, drawIcon(path), h("small", { "aria-hidden": "true" }, word));
    }

    #drawPlay() {
        const { isPlaying } = this;
        const name = isPlaying ? "Pause" : "Play";
        const attributes = { key: "play", class: "go play main", "aria-label": name, title: `${name} (Space)`, onclick: () => this.togglePlay() };
        return h("button", attributes, drawIcon(isPlaying ? PAUSE : PLAY, !isPlaying), h("small", { "aria-hidden": "true" }, isPlaying ? "pause" : "play"));
    }

    #drawSpeed() {
        const choose = (/** @type {Event} */ event) =>
            event.currentTarget instanceof HTMLSelectElement && this.#changeSpeed(Number(event.currentTarget.value) - this.#speed);
        return h(
            "div",
            { class: "speed" },
            h(
                "select",
                { class: "small", "aria-label": "Speed, in steps a second", ".value": String(this.#speed), onchange: choose },
                SPEEDS.map((speed, index) => h("option", { key: index, value: index }, `${speed} / s`)),
            ),
            h("button", { class: "small icon-button keys", "aria-label": "Keys", title: "Keys (?)", onclick: () => void openKeys() }, "?"),
        );
    }
}

/** @param {number} speed in steps a second */
function speedText(speed) {
    return speed < 1 ? `1 step in ${1 / speed} s` : `${speed} ${speed === 1 ? "step" : "steps"} a second`;
}

/**
 * @param {string} path
 * @param {boolean} [isFilled]
 */
function drawIcon(path, isFilled = false) {
    return h("svg", { class: ["icon", isFilled && "filled"], viewBox: "0 0 16 16", "aria-hidden": "true" }, h("path", { d: path }));
}

/** Opens the list of keys. */
async function openKeys() {
    const { openKeysDialog } = await import("../../ui/keys-help.js");
    await openKeysDialog(KEYS_HELP);
}
