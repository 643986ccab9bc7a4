/**
 * Small pictures of start positions. Each is one image, drawn once for a game and a theme, so that a
 * page with many of them has few elements.
 *
 * @import {GameDescription} from "../shell/api.js"
 * @import {VNode} from "../shell/elements.js"
 */

import { drawBoard } from "./drawing.js";
import { layOut } from "./geometry.js";
import { h, render } from "../shell/elements.js";
import { isDark } from "../shell/theme.js";

/** The style sheets that an image needs; it cannot use those of the page. */
const STYLES = ["../shell/base.css", "board.css"].map((name) => new URL(name, import.meta.url));

/** The images as data URLs, by game and theme. @type {Map<string, string>} */
const pictures = new Map();
/** The text of the style sheets; null until they are loaded. @type {string | null} */
let styles = null;

/** Loads what the pictures need; the browser has it in its cache. */
export async function loadPictures() {
    if (styles !== null) return;
    const texts = await Promise.all(STYLES.map(async (url) => (await fetch(url)).text()));
    // Of the first sheet the image needs only the variables.
    styles = `${texts[0].match(/:root \{[^}]*\}/)?.[0] ?? ""}${texts[1]}`;
}

/**
 * The picture of a game's start position; empty until `loadPictures` has ended.
 * @param {GameDescription} game
 * @returns {VNode}
 */
export function drawPicture(game) {
    if (styles === null) return h("span", { class: "thumbnail" });
    const key = `${isDark() ? "dark" : "light"} ${game.id}`;
    const url = pictures.get(key) ?? makePicture(game, styles);
    pictures.set(key, url);
    return h("img", { class: "thumbnail", src: url, alt: "" });
}

/**
 * @param {GameDescription} game
 * @param {string} styles
 * @returns {string}
 */
function makePicture(game, styles) {
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
    const parent = document.createElement("div");
    render(parent, drawBoard(scene, { ...layout, labels: [], box: layout.frame }, state));
    const svg = parent.firstElementChild;
    if (!(svg instanceof SVGElement)) return "";
    const style = document.createElementNS(svg.namespaceURI, "style");
    style.textContent = `${styles} :root { color-scheme: ${isDark() ? "dark" : "light"}; }`;
    svg.prepend(style);
    svg.setAttribute("width", "120");
    svg.setAttribute("height", String(Math.round((120 * layout.frame.height) / layout.frame.width)));
    return `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
}
