/**
 * The list of the bot's commands over the field of the chat. What works now comes first; what does not
 * is grey and says why. The page loads this module with the first slash.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Model, Room} from "../../shell/model.js"
 */

import { request } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { hasAi } from "../../ui/table.js";
import { allowsHelp, mySeat } from "./viewer.js";

/** The list's style, without which it would push the chat aside. */
export const styled = loadStyleSheet("pages/room/chat-commands.css");

/** A chat command, as the server lists it. @typedef {{name: string, about: string, needs?: string[]}} ChatCommand */

/**
 * Why a command that needs something does not work, where it is missing. A newer server may name other
 * needs; the bot says itself what is missing then.
 * `lacks` has what a game never has, as "pass hex".
 * @type {Record<string, (model: Model, room: Room, lacks: Set<string>) => string | false>}
 */
const MISSING = {
    match: (_, room) => room.match === null && "there is no match yet",
    seat: (model) => mySeat(model) === null && "for players only",
    pass: (_, { description }, lacks) => lacks.has(`pass ${description?.game}`) && "no turn can be passed in this game",
    help: (_, room) => !allowsHelp(room) && "no help in this match",
    ai: (_, { seats }) => !hasAi(seats) && "no AI plays here",
    thoughts: (_, { match, seats, thoughts }) =>
        !hasAi(match?.seats ?? seats) && Object.keys(thoughts).length === 0 && "no AI plays here",
};

export class CommandList {
    #app;
    /** The commands; null until they have arrived. @type {ChatCommand[] | null} */
    #commands = null;
    /** The game for which they were requested last; a room may go on to another one. @type {string | undefined} */
    #game = "";
    /** What the games that were asked about never have. @type {Set<string>} */
    #lacks = new Set();
    /** What is typed, if it is the beginning of a command; otherwise "". */
    #typed = "";
    #selected = 0;

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    /**
     * The attributes that the list needs on the field.
     * @returns {Record<string, unknown>}
     */
    fieldAttributes() {
        const shown = this.#matches();
        const isOpen = shown.length > 0;
        return {
            role: "combobox",
            "aria-autocomplete": "list",
            "aria-expanded": String(isOpen),
            "aria-controls": isOpen ? "commands" : null,
            "aria-activedescendant": isOpen ? `command-${shown[this.#selected]?.name}` : null,
            onkeydown: (/** @type {KeyboardEvent} */ event) => this.#onKey(event),
        };
    }

    /**
     * Filters the list by the typed text.
     * @param {string} text
     */
    onInput(text) {
        const typed = /^\/[a-z-]*$/i.test(text) ? text.toLowerCase() : "";
        if (typed === this.#typed) return;
        this.#typed = typed;
        this.#selected = 0;
        if (typed && this.#game !== this.#app.model.room?.description?.game) void this.#load(this.#app.model.room?.description?.game);
        this.#app.update();
    }

    /** @returns {Content} */
    draw() {
        const shown = this.#matches();
        if (shown.length === 0) return null;
        const options = shown.map(({ name, about, missing }, index) => {
            const attributes = {
                key: name,
                id: `command-${name}`,
                role: "option",
                "aria-selected": String(index === this.#selected),
                class: missing && "refused",
                // The field keeps the focus.
                onmousedown: (/** @type {Event} */ event) => event.preventDefault(),
                onclick: () => this.#complete(name),
            };
            const words = missing ? `${about} (${missing})` : about;
            return h("li", attributes, h("b", null, `/${name}`), " ", h("span", { class: "muted" }, words));
        });
        return h("ul", { id: "commands", class: "commands", role: "listbox", "aria-label": "Commands" }, options);
    }

    /** @param {string | undefined} game */
    async #load(game) {
        this.#game = game;
        try {
            /** @type {{commands: ChatCommand[], lacks?: string[]}} */
            const { commands, lacks = [] } = await request(`/api/chat-commands${game ? `?${new URLSearchParams({ game })}` : ""}`);
            this.#commands = commands;
            for (const need of lacks) this.#lacks.add(`${need} ${game}`);
        } catch {
            this.#game = ""; // the next slash tries again
        }
        this.#app.update();
    }

    /**
     * The commands that begin with the typed text, those that work now first; `missing` says why one
     * does not, or is "".
     * @returns {(ChatCommand & {missing: string})[]}
     */
    #matches() {
        const { model } = this.#app;
        const { room } = model;
        if (this.#typed === "" || room === null) return [];
        const matches = (this.#commands ?? [])
            .filter(({ name }) => `/${name}`.startsWith(this.#typed))
            .map((each) => ({ ...each, missing: missingOf(model, room, each, this.#lacks) }));
        if (matches.length === 1 && `/${matches[0]?.name}` === this.#typed) return [];
        return [...matches.filter(({ missing }) => !missing), ...matches.filter(({ missing }) => missing)];
    }

    /** @param {KeyboardEvent} event */
    #onKey(event) {
        const shown = this.#matches();
        if (shown.length === 0) return;
        const steps = { ArrowDown: 1, ArrowUp: -1 };
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            this.#selected = (this.#selected + steps[event.key] + shown.length) % shown.length;
            this.#app.update();
            const id = `command-${shown[this.#selected]?.name}`;
            requestAnimationFrame(() => document.getElementById(id)?.scrollIntoView({ block: "nearest" }));
        } else if (event.key === "Escape") {
            this.onInput("");
        } else if (event.key === "Tab" || (event.key === "Enter" && `/${shown[this.#selected]?.name}` !== this.#typed)) {
            this.#complete(shown[this.#selected]?.name ?? "");
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    /**
     * Writes the chosen command into the field.
     * @param {string} name
     */
    #complete(name) {
        const field = document.querySelector("#say input");
        if (field instanceof HTMLInputElement) {
            field.value = `/${name} `;
            field.focus();
        }
        this.onInput("");
    }
}

/**
 * Why a command does not work now, or "".
 * @param {Model} model
 * @param {Room} room
 * @param {ChatCommand} command
 * @param {Set<string>} lacks
 */
function missingOf(model, room, { needs = [] }, lacks) {
    for (const need of needs) {
        const reason = MISSING[need]?.(model, room, lacks);
        if (reason) return reason;
    }
    return "";
}
