/**
 * The choice of the room's next game: the game with its options, who plays which side, the AI's level
 * and the time control. The page loads this module when a player asks for it.
 *
 * @import {App} from "../../shell/app.js"
 * @import {GameDescription, GameOption} from "../../shell/api.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Room} from "../../shell/model.js"
 * @import {Command} from "../../shell/connection.js"
 */

import { drawPicture } from "../../board/pictures/picture.js";
import { listGames } from "../../shell/api.js";
import { CommandError } from "../../shell/connection.js";
import { h, render } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { isOneScreen, viewerSeat } from "./viewer.js";
import { occupantName, sentence, sideName } from "../../shell/words.js";
import { ClockField } from "../../ui/clock/field.js";
import { hasAi } from "../../ui/table.js";

/**
 * The chosen match. `side` is the one that the person of `subjectSeat` plays. A null `level` leaves the
 * AI as it is.
 * @typedef {{game: GameDescription, options: Record<string, string>, side: number, level: number | null}} Choice
 */

/**
 * Opens the choice, once: the user may press again while it is on its way. It closes when the server has
 * accepted it.
 * @param {App} app
 * @param {Room} room
 */
export async function openNextGame(app, room) {
    const [games] = await Promise.all([
        listGames(),
        loadStyleSheet("ui/edge-shadow.css"),
        loadStyleSheet("pages/room/next-game.css"),
    ]);
    if (document.querySelector("dialog.next-game[open]")) return;
    const present = games.find(({ id }) => id === room.description?.game) ?? games[0];
    if (present) new NextGame(app, room, games, present).open();
}

/**
 * The seat of the person whose side is chosen: the viewer, or where that is nobody the first player.
 * @param {App} app
 */
function subjectSeat(app) {
    return viewerSeat(app.model) ?? 0;
}

class NextGame {
    #app;
    #room;
    #games;
    #dialog = document.createElement("dialog");
    /** @type {Choice} */
    #choice;
    #refusal = "";
    #isBusy = false;
    #clock;

    /**
     * @param {App} app
     * @param {Room} room
     * @param {GameDescription[]} games
     * @param {GameDescription} present the room's game
     */
    constructor(app, room, games, present) {
        this.#app = app;
        this.#room = room;
        // Those that are there for lessons stand last, as in the lobby.
        this.#games = [...games].sort((a, b) => Number(a.search === "teach") - Number(b.search === "teach"));
        // As in a rematch, the sides are swapped.
        this.#choice = {
            game: present,
            options: { ...room.description?.options },
            side: 1 - subjectSeat(app),
            level: levelIn(present, room),
        };
        this.#clock = new ClockField(room.clock, () => this.#draw());
        this.#dialog.className = "window next-game";
        this.#dialog.setAttribute("aria-labelledby", "next-game-title");
        this.#dialog.addEventListener("close", () => this.#dialog.remove());
        this.#dialog.addEventListener("click", (event) => event.target === this.#dialog && this.#dialog.close());
    }

    open() {
        this.#draw();
        document.body.append(this.#dialog);
        this.#dialog.showModal();
        this.#dialog.querySelector(":checked")?.scrollIntoView({ block: "nearest" });
    }

    /** @param {Partial<Choice>} changes */
    #change(changes) {
        this.#choice = { ...this.#choice, ...changes };
        this.#refusal = "";
        this.#draw();
    }

    async #submit() {
        if (this.#isBusy) return;
        this.#isBusy = true;
        this.#draw();
        const command = nextGameCommand(this.#app, this.#room, this.#choice, this.#clock.value);
        const error = await this.#app.session.command(command).then(
            () => null,
            (refusal) => refusal,
        );
        this.#isBusy = false;
        if (error === null) return this.#dialog.close();
        if (!(error instanceof CommandError)) throw error;
        if (error.code === "clock.refused") return this.#clock.refuse(error.message);
        this.#refusal = sentence(error.message);
        this.#draw();
    }

    #draw() {
        const { game, options, side, level } = this.#choice;
        const room = this.#room;
        const submit = (/** @type {Event} */ event) => {
            event.preventDefault();
            void this.#submit();
        };
        const isAlone = hasAi(room.seats) || isOneScreen(room);
        render(
            this.#dialog,
            h("h2", { id: "next-game-title" }, "Next game"),
            h(
                "form",
                { id: "next-game", class: "content", onsubmit: submit },
                h(
                    "div",
                    { class: "games edge-shadow", role: "radiogroup", "aria-label": "Game" },
                    this.#games.map((each) => this.#drawGame(each, each === game)),
                ),
                h(
                    "div",
                    { class: "fields" },
                    game.goal ? h("p", { key: "goal", class: "goal" }, game.goal) : null,
                    this.#drawSide(game, side),
                    hasAi(room.seats) && game.levels > 0 ? this.#drawLevel(game, level) : null,
                    Object.entries(game.options).map(([name, option]) =>
                        drawOption(name, option, options[name] ?? option.default, (value) =>
                            this.#change({ options: { ...options, [name]: value } }),
                        ),
                    ),
                    this.#clock.drawSelect(),
                ),
            ),
            h(
                "div",
                { class: "buttons" },
                this.#refusal ? h("p", { class: "refusal", role: "alert" }, this.#refusal) : null,
                h("button", { onclick: () => this.#dialog.close() }, "Cancel"),
                h("button", { class: "main", form: "next-game", disabled: this.#isBusy }, isAlone ? "Start" : "Propose"),
            ),
        );
    }

    /**
     * @param {GameDescription} game
     * @param {boolean} isChosen
     */
    #drawGame(game, isChosen) {
        const pick = () => this.#change({ game, options: {}, level: levelIn(game, this.#room) });
        return h(
            "label",
            { key: game.id },
            h("input", { type: "radio", name: "game", value: game.id, ".checked": isChosen, onchange: pick }),
            h("span", null, drawPicture(game), game.title),
        );
    }

    /**
     * @param {GameDescription} game
     * @param {number} side
     */
    #drawSide(game, side) {
        const seat = subjectSeat(this.#app);
        const isMine = viewerSeat(this.#app.model) !== null;
        const legend = isMine ? "You play" : `${occupantName(this.#room.seats[seat])} plays`;
        return h(
            "label",
            { key: "side" },
            h("span", null, legend),
            drawSelect(["0", "1"].map((each) => [each, nameOf(game, Number(each))]), String(side), (value) =>
                this.#change({ side: Number(value) }),
            ),
        );
    }

    /**
     * @param {GameDescription} game
     * @param {number | null} level
     */
    #drawLevel(game, level) {
        const levels = Array.from({ length: game.levels }, (_, i) => String(i + 1));
        const labels = /** @type {[string, string][]} */ (
            levels.map((each, i) => [each, `${each} ${game.level_names?.[i] ?? ""}`.trim()])
        );
        const all = level === null ? /** @type {[string, string][]} */ ([["", "As it is"], ...labels]) : labels;
        return h(
            "label",
            { key: "level" },
            h("span", null, "Level"),
            drawSelect(all, level === null ? "" : String(level), (value) =>
                this.#change({ level: value === "" ? null : Number(value) }),
            ),
        );
    }
}

/**
 * The name of a side, and whether it begins.
 * @param {GameDescription} game
 * @param {number} seat
 */
function nameOf(game, seat) {
    return `${sideName(game.view, seat)}${seat === (game.start?.turn ?? 0) ? ", begins" : ""}`;
}

/**
 * The level of the room's AI, as far as a game has it; null for an AI without a level.
 * @param {GameDescription} game
 * @param {Room} room
 */
function levelIn(game, room) {
    const level = room.seats.find((occupant) => occupant?.kind === "ai")?.level;
    return level == null || game.levels === 0 ? null : Math.min(level, game.levels);
}

/**
 * @param {App} app
 * @param {Room} room
 * @param {Choice} choice
 * @param {string | null} clock the time control, null for none
 * @returns {Command}
 */
function nextGameCommand(app, room, { game, options, side, level }, clock) {
    const stays = subjectSeat(app) === side;
    return {
        t: "next_game",
        room: room.id,
        game: game.id,
        options,
        seats: stays ? [0, 1] : [1, 0],
        ...(level !== null && { level }),
        ...(clock !== room.clock && { clock: clock ?? "-" }),
    };
}

/**
 * @param {string} name
 * @param {GameOption} option
 * @param {string} value
 * @param {(value: string) => void} pick
 * @returns {Content}
 */
function drawOption(name, { title, offered, free, phrases }, value, pick) {
    const write = (/** @type {Event} */ { currentTarget }) =>
        currentTarget instanceof HTMLInputElement && pick(currentTarget.value.trim());
    const labels = /** @type {[string, string][]} */ (offered.map((text) => [text, phrases?.[text] ?? text]));
    return h(
        "label",
        { key: `option ${name}` },
        h("span", null, title),
        free
            ? h("input", { ".value": value, list: `values-${name}`, onchange: write })
            : drawSelect(labels, value, pick),
        free ? h("datalist", { id: `values-${name}` }, offered.map((text) => h("option", { value: text }))) : null,
    );
}

/**
 * @param {string[][]} labels values with their labels
 * @param {string} value
 * @param {(value: string) => void} pick
 */
function drawSelect(labels, value, pick) {
    const onchange = (/** @type {Event} */ { currentTarget }) =>
        currentTarget instanceof HTMLSelectElement && pick(currentTarget.value);
    return h(
        "select",
        { onchange },
        labels.map(([key, label]) => h("option", { value: key ?? "", selected: key === value }, label)),
    );
}
