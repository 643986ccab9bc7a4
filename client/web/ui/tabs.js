/**
 * Tabs: a list of tabs of which one is selected, and a panel for each. On a wide window all panels
 * are shown and there are no tabs.
 *
 * @import {Content, VNode} from "../shell/elements.js"
 */

import { h } from "../shell/elements.js";

/**
 * Windows narrower than these show the cards of a match as tabs, with a board of any form and with a
 * wide one; match.css has the same widths.
 */
const narrowWindow = matchMedia("(max-width: 1099.98px)");
const narrowForWideBoard = matchMedia("(max-width: 1499.98px)");
/** Whether the page has a wide board. */
let hasWideBoard = false;

/**
 * Says whether the board of the page is wide. Pages call it before they draw.
 * @param {boolean} isWide
 */
export function setWideBoard(isWide) {
    hasWideBoard = isWide;
}

/**
 * `hasNews` marks a tab whose panel has something that the user has not seen.
 * @typedef {{id: string, title: string, hasNews?: boolean}} Tab
 */

/** Whether the cards of a match are tabs now. */
export function hasTabs() {
    return narrowWindow.matches || (hasWideBoard && narrowForWideBoard.matches);
}

/** Whether the tabs are those beside a wide board on a middling window, whose panels are high. */
export function isBesideWideBoard() {
    return hasWideBoard && !narrowWindow.matches && narrowForWideBoard.matches;
}

/**
 * Calls a function whenever the window becomes narrow or wide; returns a function that ends this.
 * @param {() => void} listener
 */
export function onTabsChange(listener) {
    const windows = [narrowWindow, narrowForWideBoard];
    for (const each of windows) each.addEventListener("change", listener);
    return () => windows.forEach((each) => each.removeEventListener("change", listener));
}

/**
 * The list of tabs. The arrow keys, Home and End select a tab.
 * @param {{label: string, tabs: Tab[], selected: string, select: (id: string) => void}} list
 * @returns {VNode | null} null on a wide window
 */
export function drawTabs({ label, tabs, selected, select }) {
    if (!hasTabs()) return null;
    const onKey = (/** @type {KeyboardEvent} */ event) => {
        const to = tabForKey(tabs, selected, event.key);
        if (to === null) return;
        event.preventDefault();
        select(to);
        document.getElementById(`tab-${to}`)?.focus();
    };
    return h(
        "div",
        { class: "tabs", role: "tablist", "aria-label": label, onkeydown: onKey, key: "tabs" },
        tabs.map((tab) => drawTab(tab, tab.id === selected, () => select(tab.id))),
    );
}

/**
 * @param {Tab} tab
 * @param {boolean} isSelected
 * @param {() => void} select
 */
function drawTab({ id, title, hasNews = false }, isSelected, select) {
    const attributes = {
        id: `tab-${id}`,
        key: id,
        class: "tab",
        role: "tab",
        "aria-selected": isSelected,
        "aria-controls": `panel-${id}`,
        tabindex: isSelected ? 0 : -1,
        onclick: select,
    };
    const news = hasNews ? h("span", { class: "news" }, h("span", { class: "visually-hidden" }, " (new)")) : null;
    return h("button", attributes, title, news);
}

/**
 * The tab that a key leads to, or null for other keys.
 * @param {Tab[]} tabs
 * @param {string} selected
 * @param {string} key
 * @returns {string | null}
 */
export function tabForKey(tabs, selected, key) {
    const index = tabs.findIndex(({ id }) => id === selected);
    /** @type {Record<string, number>} */
    const steps = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: tabs.length - 1 };
    if (!(key in steps)) return null;
    return tabs[(steps[key] + tabs.length) % tabs.length]?.id ?? null;
}

/**
 * The panel of a tab, with its content. On a wide window it is a plain part of the page.
 * @param {string} id the id of its tab
 * @param {string} selected
 * @param {Content} content
 * @returns {VNode | null} null without content
 */
export function drawPanel(id, selected, content) {
    if (!content) return null;
    const isTab = hasTabs();
    const attributes = {
        id: `panel-${id}`,
        key: `panel-${id}`,
        class: "panel",
        role: isTab ? "tabpanel" : null,
        "aria-labelledby": isTab ? `tab-${id}` : null,
        hidden: isTab && id !== selected,
    };
    return h("div", attributes, content);
}
