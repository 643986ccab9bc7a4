/**
 * The sheet of a game: a dialog with the choices for a new match, and the button that creates it.
 *
 * @import {GameDescription, GameOption} from "../../shell/api.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Choices} from "./choices.js"
 * @import {CommandError} from "../../shell/connection.js"
 */

import { drawPicture } from "../../board/pictures/picture.js";
import { h, render } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { MAX_NAME, VERBS, visibilityOf } from "./choices.js";
import { PositionField } from "./position-field.js";
import { ClockField } from "../../ui/clock/field.js";
import { drawRules } from "../../ui/rules.js";
import { drawDepth, knownStrategies, takesDepth } from "../../ui/strategies.js";
import { PERSONAS, parseStrategy, sentence, sideName, strategyChoice } from "../../shell/words.js";

export class GameSheet {
    #game;
    #choices;
    #create;
    #dialog = document.createElement("dialog");
    #isBusy = false;
    #position = new PositionField(() => this.#draw());
    #clock;
    /** The server's refusal of the last attempt, or empty. */
    #refusal = "";
    /** The server's refusal of a value that the user has typed for an option, or empty. */
    #optionRefusal = "";

    /**
     * @param {GameDescription} game
     * @param {Choices} choices the initial choices
     * @param {(choices: Choices) => Promise<CommandError | "cancelled" | null>} create creates the room;
     *     resolves with the refusal, "cancelled", or null when the room exists
     */
    constructor(game, choices, create) {
        this.#game = game;
        this.#choices = choices;
        this.#create = create;
        this.#clock = new ClockField(choices.clock ?? null, () => this.#draw());
        this.#dialog.className = "sheet";
        this.#dialog.setAttribute("aria-labelledby", "sheet-title");
        this.#dialog.addEventListener("close", () => this.#dialog.remove());
        this.#dialog.addEventListener("click", (event) => event.target === this.#dialog && this.close());
    }

    open() {
        this.#draw();
        document.body.append(this.#dialog);
        this.#dialog.showModal();
    }

    close() {
        this.#dialog.close();
    }

    /** @param {Partial<Choices>} changes */
    #change(changes) {
        this.#choices = { ...this.#choices, ...changes };
        this.#refusal = this.#optionRefusal = "";
        this.#draw();
    }

    async #submit() {
        if (this.#isBusy) return;
        // Before any question about other matches.
        if (this.#position.refusal) return this.#position.refuse(this.#position.refusal);
        this.#isBusy = true;
        this.#draw();
        const { clock: _, ...choices } = this.#choices;
        const clock = this.#clock.value;
        const refusal = await this.#create({ ...choices, ...(clock !== null && { clock }), start: this.#position.start });
        this.#isBusy = false;
        if (refusal === null) return this.close();
        if (refusal === "cancelled") return this.#draw();
        if (refusal.code === "clock.refused") return this.#clock.refuse(refusal.message);
        const isAboutPosition = refusal.code === "position.refused";
        const field = refusal.code === "option.unknown" ? this.#dialog.querySelector(".other-value") : null;
        this.#optionRefusal = field ? sentence(refusal.message) : "";
        this.#refusal = isAboutPosition || field ? "" : sentence(refusal.message);
        this.#draw();
        if (isAboutPosition) this.#position.refuse(refusal.message);
        if (field instanceof HTMLElement) field.focus();
    }

    #draw() {
        const [game, choices] = [this.#game, this.#choices];
        const change = (/** @type {Partial<Choices>} */ changes) => this.#change(changes);
        const submit = (/** @type {Event} */ event) => {
            event.preventDefault();
            void this.#submit();
        };
        render(
            this.#dialog,
            h(
                "form",
                { onsubmit: submit },
                h(
                    "header",
                    null,
                    drawPicture(game),
                    h("h2", { id: "sheet-title" }, game.title),
                    h(
                        "button",
                        { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => this.close() },
                        icon("cross"),
                    ),
                ),
                h(
                    "div",
                    { class: "choices" },
                    drawChoices(game, choices, this.#position.turn ?? game.start?.turn ?? 0, this.#optionRefusal, this.#clock, change),
                    this.#position.draw(game, choices.options),
                    h("details", { key: "rules" }, h("summary", null, `Rules of ${game.title}`), drawRules(game.rules)),
                ),
                h(
                    "footer",
                    null,
                    this.#refusal ? h("p", { class: "refusal", role: "alert" }, this.#refusal) : null,
                    h("button", { class: "main large", disabled: this.#isBusy || this.#position.isRefused, autofocus: true }, VERBS[choices.opponent]),
                ),
            ),
        );
    }
}

/**
 * @param {GameDescription} game
 * @param {Choices} choices
 * @param {number} first the seat that moves first
 * @param {string} optionRefusal why the server refused the value of an option, or empty
 * @param {ClockField} clock
 * @param {(changes: Partial<Choices>) => void} change
 * @returns {Content}
 */
function drawChoices(game, choices, first, optionRefusal, clock, change) {
    return [
        drawChoice(
            "opponent",
            "Against",
            [
                { friend: "A friend", ai: "The AI" },
                { screen: "One screen for two", duel: "AI against AI" },
            ],
            choices.opponent,
            (opponent) => change({ opponent: /** @type {Choices["opponent"]} */ (opponent) }),
        ),
        choices.opponent === "screen" ? drawNames(game, choices, change) : null,
        choices.opponent === "ai" || choices.opponent === "duel" ? drawLevels(game, choices, change) : null,
        choices.opponent === "ai" || choices.opponent === "friend" ? drawSides(game, choices, first, change) : null,
        clock.drawSegments(),
        Object.entries(game.options).map(([name, option]) => drawOption(name, option, choices, optionRefusal, change)),
        choices.opponent === "ai" || choices.opponent === "duel"
            ? drawChoice(
                  "thinking",
                  "During the match, the AI's thinking is shown to",
                  { all: "Everyone", spectators: "Spectators", after: "Nobody" },
                  choices.thinking ?? "all",
                  (thinking) => change({ thinking: /** @type {Choices["thinking"]} */ (thinking) }),
              )
            : null,
        choices.opponent === "friend"
            ? drawChoice(
                  "help",
                  "During the match, the bot helps with positions",
                  { no: "Nobody", yes: "Both players" },
                  choices.help ? "yes" : "no",
                  (help) => change({ help: help === "yes" }),
                  choices.help ? "Hints and the chat's commands are for both of you." : undefined,
              )
            : null,
        drawVisibility(choices, change),
    ];
}

/**
 * Whether others find the room: a friend's seat is for whom the link is sent to, unless the user opens
 * it to anyone.
 * @param {Choices} choices
 * @param {(changes: Partial<Choices>) => void} change
 */
function drawVisibility(choices, change) {
    const visibility = visibilityOf(choices);
    const pick = (/** @type {string} */ value) => {
        const picked = /** @type {Choices["visibility"]} */ (value);
        const field = { friend: "invitation", screen: "atHome", ai: "visibility", duel: "visibility" }[choices.opponent];
        change({ [field]: picked, door: false });
    };
    const [legend, labels] =
        choices.opponent === "friend"
            ? ["The other seat is for", { unlisted: "My friend", public: "Anyone" }]
            : ["Who can watch", { public: "Anyone", unlisted: "Only with the link" }];
    const about =
        visibility === "unlisted"
            ? "The room is not in the lobby: only people with its link can find it."
            : choices.opponent === "friend"
              ? "The first who presses Join in the lobby, or who opens the link, may play."
              : "The room is in the lobby, and its matches are in everyone's replays.";
    return drawChoice("visibility", legend, labels, visibility, pick, about);
}

/**
 * A choice between a few values, as rows of segments.
 * @param {string} name
 * @param {string} legend
 * @param {Record<string, Content> | Record<string, Content>[]} labels by value: one row, or several
 * @param {string} value
 * @param {(value: string) => void} pick
 * @param {string} [about] a text about the chosen value
 * @param {string} [lastLegend] of the last row
 * @param {Record<string, string>} [titles] what some values mean
 */
function drawChoice(name, legend, labels, value, pick, about, lastLegend, titles = {}) {
    const rows = (Array.isArray(labels) ? labels : [labels]).map((row, i, { length }) => [
        lastLegend && i === length - 1 ? h("p", { class: "about" }, lastLegend) : null,
        h(
            "div",
            { class: "segments" },
            Object.entries(row).map(([key, label]) =>
                h(
                    "label",
                    { key, class: "segment", title: titles[key] },
                    h("input", {
                        type: "radio",
                        name,
                        value: key,
                        ".checked": key === value,
                        onchange: () => pick(key),
                    }),
                    h("span", null, label),
                ),
            ),
        ),
    ]);
    return h(
        "fieldset",
        { class: "choice", key: name },
        h("legend", null, legend),
        rows,
        about ? h("p", { class: "about" }, about) : null,
    );
}

/**
 * @param {GameDescription} game
 * @param {Choices} choices
 * @param {(changes: Partial<Choices>) => void} change
 */
function drawLevels(game, choices, change) {
    const isDuel = choices.opponent === "duel";
    const redraw = () => change({});
    const noun = game.levels > 0 ? "Level" : "Strategy";
    const legend = isDuel ? `${noun} of ${sideName(game.view, 0)}` : noun;
    return [
        drawLevel("level", legend, game, choices.level, (level) => change({ level }), redraw),
        isDuel
            ? drawLevel(
                  "second-level",
                  `${noun} of ${sideName(game.view, 1)}`,
                  game,
                  choices.secondLevel,
                  (secondLevel) => change({ secondLevel }),
                  redraw,
              )
            : null,
    ];
}

/**
 * The names of two people on one screen.
 * @param {GameDescription} game
 * @param {Choices} choices
 * @param {(changes: Partial<Choices>) => void} change
 */
function drawNames(game, { names = ["", ""] }, change) {
    const write = (/** @type {number} */ seat) => (/** @type {Event} */ { currentTarget }) => {
        if (!(currentTarget instanceof HTMLInputElement)) return;
        change({ names: seat === 0 ? [currentTarget.value, names[1]] : [names[0], currentTarget.value] });
    };
    return h(
        "fieldset",
        { class: "choice names", key: "names" },
        h("legend", null, "The players' names"),
        h(
            "div",
            null,
            [0, 1].map((seat) =>
                h(
                    "label",
                    { key: seat },
                    h("i", { class: "swatch", "--colour": game.view.seats[seat]?.colour ?? "" }),
                    h("input", {
                        ".value": names[seat] ?? "",
                        "aria-label": `Name of ${sideName(game.view, seat)}`,
                        placeholder: sideName(game.view, seat),
                        maxlength: MAX_NAME,
                        autocomplete: "off",
                        oninput: write(seat),
                    }),
                ),
            ),
        ),
    );
}

/** Maximum number of levels in one row. */
const MAX_ROW_LEVELS = 4;

/**
 * A choice of a level or, in a row of their own, of a persona or a strategy.
 * @param {string} name
 * @param {string} legend
 * @param {GameDescription} game
 * @param {string} value
 * @param {(value: string) => void} pick
 * @param {() => void} redraw
 */
function drawLevel(name, legend, game, value, pick, redraw) {
    const levels = Array.from({ length: game.levels }, (_, i) => i + 1);
    const rowCount = Math.ceil(game.levels / MAX_ROW_LEVELS);
    const rows = Array.from({ length: rowCount }, (_, row) =>
        Object.fromEntries(
            levels
                .filter((level) => Math.ceil((level * rowCount) / game.levels) === row + 1)
                .map((level) => [level, [`${level} `, h("small", null, game.level_names?.[level - 1] ?? "")]]),
        ),
    );
    const isStrategy = parseStrategy(value) !== null;
    const strategy = isStrategy ? drawStrategy(game, name, legend, value, pick, redraw) : null;
    if (game.levels === 0) return strategy;
    const others = Object.fromEntries(Object.entries(PERSONAS).map(([key, persona]) => [key, persona.name]));
    const choices = [...rows, { ...others, [STRATEGY]: "Strategy" }];
    const onPick = (/** @type {string} */ level) => pick(level === STRATEGY ? strategyChoice("minimax") : level);
    return [drawChoice(name, legend, choices, isStrategy ? STRATEGY : value, onPick, PERSONAS[value]?.about, "Or a character, or a strategy", MEANINGS), strategy];
}

/** The value of the segment for a strategy. */
const STRATEGY = "strategy";
/** What the segments of characters and strategies mean. */
const MEANINGS = Object.fromEntries([
    ...Object.entries(PERSONAS).map(([key, { about }]) => [key, about]),
    [STRATEGY, "It searches as you choose: by an algorithm, to a depth"],
]);

/**
 * The choice of a strategy and of its depth, with a link to its search.
 * @param {GameDescription} game
 * @param {string} name
 * @param {string} legend
 * @param {string} value
 * @param {(value: string) => void} pick
 * @param {() => void} redraw
 */
function drawStrategy(game, name, legend, value, pick, redraw) {
    const { strategy, depth } = parseStrategy(value) ?? { strategy: "", depth: null };
    const { titles, list } = knownStrategies(redraw);
    // A character plays at random too, unless the game has none.
    const offered = Object.entries(titles).filter(([key]) => game.levels === 0 || key !== "random" || key === strategy);
    const pickStrategy = (/** @type {Event} */ { currentTarget }) => {
        if (!(currentTarget instanceof HTMLSelectElement)) return;
        pick(strategyChoice(currentTarget.value, takesDepth(currentTarget.value, list) ? depth : null));
    };
    return h(
        "div",
        { key: `${name} strategy`, class: "strategy" },
        h(
            "label",
            null,
            legend.replace(/^Level/, "Strategy"),
            " ",
            h(
                "select",
                { name: `${name}-strategy`, onchange: pickStrategy },
                offered.map(([key, title]) => h("option", { value: key, selected: key === strategy }, title)),
            ),
        ),
        list && takesDepth(strategy, list)
            ? drawDepth(list, depth, (plies) => pick(strategyChoice(strategy, plies)))
            : null,
        h("a", { href: `/glass?game=${game.id}&algorithm=${strategy}${depth === null ? "" : `&depth=${depth}`}` }, "See its search"),
    );
}

/**
 * @param {GameDescription} game
 * @param {Choices} choices
 * @param {number} first the seat that moves first
 * @param {(changes: Partial<Choices>) => void} change
 */
function drawSides(game, choices, first, change) {
    const swatch = (/** @type {number} */ seat) => [
        h("i", { class: "swatch", "--colour": game.view.seats[seat]?.colour ?? "" }),
        h("span", null, sideName(game.view, seat), h("small", { class: "begins" }, seat === first ? " begins" : "")),
    ];
    return drawChoice("side", "You play", { 0: swatch(0), 1: swatch(1), random: "Either" }, choices.side, (side) =>
        change({ side: /** @type {Choices["side"]} */ (side) }),
    );
}

/**
 * @param {string} name
 * @param {GameOption} option
 * @param {Choices} choices
 * @param {string} refusal why the server refused the value that the user has typed, or empty
 * @param {(changes: Partial<Choices>) => void} change
 */
function drawOption(name, option, choices, refusal, change) {
    const value = choices.options[name] ?? option.default;
    const pick = (/** @type {string} */ text) => change({ options: { ...choices.options, [name]: text } });
    const offered = Object.fromEntries(option.offered.map((text) => [text, option.phrases?.[text] ?? text]));
    if (!option.free) return drawChoice(`option-${name}`, option.title, offered, value, pick);
    const isOther = !option.offered.includes(value);
    const onInput = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLInputElement && pick(event.currentTarget.value.trim());
    const field = isOther
        ? h("input", {
              key: `other-${name}`,
              class: "other-value",
              ".value": value,
              "aria-label": option.title,
              "aria-invalid": refusal ? "true" : null,
              "aria-describedby": refusal ? "option-refusal" : null,
              autofocus: true,
              oninput: onInput,
          })
        : null;
    const error = isOther && refusal ? h("p", { key: `refusal-${name}`, class: "field-error", role: "alert", id: "option-refusal" }, refusal) : null;
    return [drawChoice(`option-${name}`, option.title, { ...offered, "": "Other…" }, isOther ? "" : value, pick), field, error];
}
