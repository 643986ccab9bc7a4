/**
 * Small pictures of start positions. Each is one image, drawn once for a game, so that a page with many
 * of them has few elements. All are in the light theme's colours, in which the games differ most.
 *
 * @import {GameDescription} from "../../shell/api.js"
 * @import {VNode} from "../../shell/elements.js"
 */

import { drawBoard } from "../drawing.js";
import { layOut } from "../geometry.js";
import { h, render } from "../../shell/elements.js";

/** The width of an image, in pixels; it scales to any size. */
const WIDTH_PX = 120;
/** The style sheets whose rules an image needs; it cannot use those of the page. */
const STYLE_SHEETS = /\/(?:shell\/base|board\/board)\.css$/;
/** The rules of an image: the variables and the themes, and what belongs to a board. */
const NEEDED_RULES = /^:root|\.board\b|\.piece\b/;

/** The images as data URLs, by game and settings of the board. @type {Map<string, string>} */
const pictures = new Map();

/**
 * The picture of a game's start position.
 * @param {GameDescription} game
 * @returns {VNode}
 */
export function drawPicture(game) {
    const theme = { ...document.documentElement.dataset, theme: "light" };
    const key = `${game.id} ${JSON.stringify(theme)}`;
    const url = pictures.get(key) ?? makePicture(game, theme);
    pictures.set(key, url);
    return h("img", { class: "thumbnail", src: url, alt: "" });
}

/**
 * @param {GameDescription} game
 * @param {Record<string, string | undefined>} theme the attributes of the page that choose its theme
 * @returns {string}
 */
function makePicture(game, theme) {
    const scene = {
        board: game.view,
        position: game.start ?? null,
        moves: [],
        pending: null,
        flip: false,
        label: game.title,
    };
    const layout = layOut(game.view.board, false);
    const state = { selection: [], current: null, focus: null, next: new Set(), hovered: null, preview: null };
    const height = Math.round((WIDTH_PX * layout.frame.height) / layout.frame.width);
    const attributes = Object.fromEntries(Object.entries(theme).map(([name, value]) => [`data-${name}`, value]));
    const parent = document.createElement("div");
    render(
        parent,
        h(
            "svg",
            { viewBox: `0 0 ${WIDTH_PX} ${height}`, width: WIDTH_PX, height, ...attributes },
            h("style", null, neededStyles()),
            drawBoard(scene, { ...layout, labels: [], box: layout.frame }, state),
        ),
    );
    const text = parent.firstElementChild ? new XMLSerializer().serializeToString(parent.firstElementChild) : "";
    return `data:image/svg+xml,${encodeURIComponent(text)}`;
}

/** The text of the rules that an image needs. */
function neededStyles() {
    const sheets = [...document.styleSheets].filter(({ href }) => href !== null && STYLE_SHEETS.test(href));
    const rules = sheets.flatMap((sheet) => [...sheet.cssRules]);
    return rules.flatMap((rule) => (NEEDED_RULES.test(rule.cssText) ? rule.cssText : [])).join("");
}
