/**
 * Small pictures of start positions. Each is one image, drawn once for a game, so that a page with many
 * of them has few elements. All are in the light theme's colours, in which the games differ most.
 *
 * @import {GameDescription} from "../../shell/api.js"
 * @import {VNode} from "../../shell/elements.js"
 */

import { drawBoard } from "../drawing.js";
import { layOut } from "../geometry.js";
import { h } from "../../shell/elements.js";

/** The width of an image, in pixels; it scales to any size. */
const WIDTH_PX = 120;
/** The style sheets whose rules an image needs; it cannot use those of the page. */
const STYLE_SHEETS = /\/(?:shell\/base|board\/board)\.css$/;
/** The rules of an image: the variables and the themes, and what belongs to a board. */
const NEEDED_RULES = /^:root|\.board\b|\.piece\b/;

/** The attributes for screen readers, keys and the pointer, which an image does not have. */
const UNNEEDED_ATTRIBUTE = /^(?:aria-.*|role|tabindex|data-cell|data-at)$/;
/** The characters that XML text cannot contain. @type {Record<string, string>} */
const ENTITIES = { "&": "&amp;", "<": "&lt;", '"': "&quot;" };

/** The images as data URLs, by game and settings of the board. @type {Map<string, string>} */
const pictures = new Map();
/** The rules that all images need, by the number of the style sheets that have arrived. @type {Map<number, string>} */
const styles = new Map();

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
    const image = h(
        "svg",
        { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${WIDTH_PX} ${height}`, width: WIDTH_PX, height, ...attributes },
        h("style", null, neededStyles()),
        drawBoard(scene, { ...layout, labels: [], box: layout.frame }, state),
    );
    return `data:image/svg+xml,${encodeURIComponent(xmlOf(image))}`;
}

/**
 * A virtual node as XML. To render it and to serialize its elements would take several times as long.
 * @param {VNode | string} node
 * @returns {string}
 */
function xmlOf(node) {
    if (typeof node === "string") return escaped(node);
    const style = [];
    let attributes = "";
    for (const [name, value] of Object.entries(node.attributes)) {
        if (value === null || value === undefined || value === false || UNNEEDED_ATTRIBUTE.test(name)) continue;
        const text = Array.isArray(value) ? value.filter(Boolean).join(" ") : String(value);
        if (name.startsWith("--")) style.push(`${name}: ${text}`);
        else attributes += ` ${name}="${escaped(text)}"`;
    }
    if (style.length > 0) attributes += ` style="${escaped(style.join("; "))}"`;
    const content = node.children.map(xmlOf).join("");
    return content === "" ? `<${node.tag}${attributes}/>` : `<${node.tag}${attributes}>${content}</${node.tag}>`;
}

/** @param {string} text */
function escaped(text) {
    return text.replace(/[&<"]/g, (character) => ENTITIES[character] ?? character);
}

/** The text of the rules that an image needs. */
function neededStyles() {
    const sheets = [...document.styleSheets].filter(({ href }) => href !== null && STYLE_SHEETS.test(href));
    const known = styles.get(sheets.length);
    if (known !== undefined) return known;
    const texts = sheets.flatMap((sheet) => [...sheet.cssRules]).map(({ cssText }) => cssText);
    const text = texts.filter((rule) => NEEDED_RULES.test(rule)).join("");
    styles.set(sheets.length, text);
    return text;
}
