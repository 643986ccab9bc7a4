/**
 * What pages have in common that only read from the server. This folder is a file of its own on the
 * line.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content} from "../../shell/elements.js"
 */

import { h } from "../../shell/elements.js";

/**
 * A page that shows what it reads from the server: a class of it has `read`, and draws `drawFailure()`
 * where that is not null. It reads again when the user asks for it, or when the connection is back.
 */
export class ReadPage {
    app;
    /** Why the reading failed. @type {string | null} */
    failure = null;

    /** @param {App} app */
    constructor(app) {
        this.app = app;
    }

    start() {
        void this.load();
    }

    stop() {}

    onModelChange() {}

    onReconnect() {
        if (this.failure !== null) void this.load();
    }

    onKey() {}

    afterDraw() {}

    async load() {
        this.failure = null;
        this.app.update();
        try {
            await this.read();
        } catch (error) {
            this.failure = error instanceof Error ? error.message : String(error);
        }
        this.app.update();
    }

    /** Reads what the page shows. @returns {Promise<void>} */
    async read() {}

    /** @returns {Content} */
    drawFailure() {
        if (this.failure === null) return null;
        return h(
            "div",
            { class: "card failure", role: "alert", key: "failure" },
            h("p", null, this.failure),
            h("button", { onclick: () => void this.load() }, "Try again"),
        );
    }
}
