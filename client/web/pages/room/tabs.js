/**
 * The tabs of a room's page on a narrow window: the moves, the AI's thinking, the chat, and the room.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Tab} from "../../ui/tabs.js"
 */

import { onUprightChange } from "../../board/geometry.js";
import { drawTabs, hasTabs, isBesideWideBoard, onTabsChange } from "../../ui/tabs.js";

export class RoomTabs {
    #app;
    /** The tab that the user has chosen. @type {string | null} */
    #chosen = null;
    /** The mark of the chat when it was last in view; null until the room has arrived. @type {number | null} */
    #seenMark = null;
    #stopListening = () => {};

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
        const stops = [onTabsChange(() => app.update()), onUprightChange(() => app.update())];
        this.#stopListening = () => stops.forEach((stop) => stop());
    }

    stop() {
        this.#stopListening();
    }

    /**
     * The id of the selected tab.
     * @param {boolean} hasThinking whether there is a tab for the AI's thinking
     */
    selected(hasThinking) {
        if (this.#chosen === null) return hasThinking && isBesideWideBoard() ? "thinking" : "moves";
        return this.#chosen === "thinking" && !hasThinking ? "moves" : this.#chosen;
    }

    /** @param {boolean} hasThinking */
    draw(hasThinking) {
        /** @type {Tab[]} */
        const tabs = [
            { id: "moves", title: "Moves" },
            ...(hasThinking ? [{ id: "thinking", title: "Thinking" }] : []),
            { id: "chat", title: "Chat", hasNews: this.#seenMark !== null && this.#chatMark() > this.#seenMark },
            { id: "room", title: "Room" },
        ];
        return drawTabs({
            label: "Parts of the room",
            tabs,
            selected: this.selected(hasThinking),
            select: (id) => {
                this.#chosen = id;
                this.#app.update();
                // Where offers or claims leave the chat no place.
                if (id === "chat") requestAnimationFrame(() => document.getElementById("say")?.scrollIntoView({ block: "nearest" }));
            },
        });
    }

    /** Records which lines and answers of chat the viewer has seen; older lines than the page are no news. */
    afterDraw() {
        const isChatInView = !hasTabs() || this.#chosen === "chat";
        if (this.#seenMark !== null && !isChatInView) return;
        const { room } = this.#app.model;
        if (!room || room.v === 0 || this.#seenMark === this.#chatMark()) return;
        this.#seenMark = this.#chatMark();
        this.#app.update();
    }

    /** A number that grows with each line and each answer of the bot, without the hints of the button. */
    #chatMark() {
        const { chat = [], answers = [] } = this.#app.model.room ?? {};
        return (chat.at(-1)?.v ?? 0) + answers.filter(({ about }) => about !== "hint").length;
    }
}
