/**
 * Opens the dialogs with the files of a match and the HTML of its frame, whose module is loaded when
 * they are first opened.
 *
 * @import {App} from "../../shell/app.js"
 * @import {StoredMatch} from "../../shell/api.js"
 */

import { loadStyleSheet } from "../../shell/style-sheets.js";

/**
 * @param {App} app
 * @param {StoredMatch} match
 */
export function openDownload(app, match) {
    void load(app, ({ openDownload }) =>
        openDownload({
            formats: match.formats ?? [],
            pathOf: (format) => `/api/matches/${match.match}/export?format=${format}`,
            hasText: true,
            note: match.over ? "The file has the players, the moves with their times, and the result." : "The match is running: the file has the moves so far.",
            announce: (text) => app.announce(text),
        }),
    );
}

/**
 * @param {App} app
 * @param {StoredMatch} match
 * @param {{origin: string, ply: number, flip: boolean}} place
 */
export function openEmbed(app, match, place) {
    void load(app, ({ openEmbed }) =>
        openEmbed({
            path: `/match/${match.match}`,
            ...place,
            announce: (text) => app.announce(text),
        }),
    );
}

/**
 * @param {App} app
 * @param {(module: typeof import("../../ui/files.js")) => Promise<void>} open
 */
async function load(app, open) {
    try {
        const [module] = await Promise.all([import("../../ui/files.js"), loadStyleSheet("ui/files.css")]);
        await open(module);
    } catch {
        app.missing();
    }
}
