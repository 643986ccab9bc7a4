/**
 * A small virtual DOM. `h` makes a virtual node, and `render` makes a parent's children match a list
 * of them. It never parses HTML, so text cannot add elements.
 *
 * `render` reuses an element for a virtual node of the same tag and key, so that focus, scroll
 * position and typed text survive. An attribute whose name begins with "on" is a listener, one with
 * "." a property, and one with "--" a custom property of the style.
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {{tag: string, key: string | null, managesChildren: boolean, attributes: Record<string,
 *     unknown>, children: (VNode | string)[]}} VNode
 */
/** @typedef {VNode | string | number | null | undefined | false | Content[]} Content */
/**
 * @typedef {Element & {[KEY]?: string | null, [ATTRIBUTES]?: Record<string, unknown>, [LISTENERS]?:
 *     Record<string, EventListener | undefined>, [VNODE]?: VNode}} RenderedElement
 */

// What `render` stores in an element: its key, its rendered attributes, the current listener of each
// event type, and the virtual node that it shows.
const KEY = Symbol("key");
const ATTRIBUTES = Symbol("attributes");
const LISTENERS = Symbol("listeners");
const VNODE = Symbol("virtual node");

/** An isolate in a text, as `isolated` makes it (isolation.js). */
const ISOLATE = /\u2068([^\u2068\u2069]*)\u2069/;

/**
 * Makes a virtual node. Two special attributes are not rendered: `key` distinguishes siblings of the
 * same tag, and with `managesChildren` the element's children are left alone.
 * @param {string} tag
 * @param {Record<string, unknown> | null} [attributes]
 * @param {...Content} children
 * @returns {VNode}
 */
export function h(tag, attributes, ...children) {
    const { key = null, managesChildren = false, ...rest } = attributes ?? {};
    return {
        tag,
        key: key === null ? null : String(key),
        managesChildren: managesChildren === true,
        attributes: rest,
        children: flatten(children),
    };
}

/**
 * @param {Content[]} content
 * @returns {(VNode | string)[]}
 */
function flatten(content) {
    return content.flatMap((item) => {
        if (Array.isArray(item)) return flatten(item);
        if (item === null || item === undefined || item === false || item === "") return [];
        return typeof item === "object" ? [item] : [String(item)];
    });
}

/**
 * Makes an element of each isolate in a text; an `option` keeps its characters, for it has no elements.
 * @param {VNode | string} child
 * @param {Element} parent
 * @returns {VNode | string | (VNode | string)[]}
 */
function withIsolates(child, parent) {
    if (typeof child === "object" || !child.includes("\u2068") || parent.localName === "option") return child;
    // Every second part is what the pattern captured.
    return flatten(child.split(ISOLATE).map((part, index) => (index % 2 ? h("bdi", null, part) : part)));
}

/**
 * Makes the children of a parent match the virtual nodes, in order; reuses existing nodes.
 * @param {Element} parent
 * @param {Content[]} content
 */
export function render(parent, ...content) {
    /** The children by key; made when a child is not in its place. @type {Map<string, RenderedElement> | null} */
    let keyed = null;
    const findKeyed = (/** @type {string} */ key) => (keyed ??= keyedChildren(parent)).get(key) ?? null;
    /** @type {ChildNode | null} */
    let next = parent.firstChild;
    for (const child of flatten(content).flatMap((each) => withIsolates(each, parent))) {
        const node = typeof child === "object" ? elementFor(child, next, findKeyed, parent) : textFor(child, next);
        if (node === next) next = node.nextSibling;
        else parent.insertBefore(node, next);
        if (typeof child === "object") update(/** @type {RenderedElement} */ (node), child);
    }
    while (next) {
        const after = next.nextSibling;
        next.remove();
        next = after;
    }
}

/**
 * @param {Element} parent
 * @returns {Map<string, RenderedElement>}
 */
function keyedChildren(parent) {
    const keyed = new Map();
    for (const child of parent.children) {
        const key = /** @type {RenderedElement} */ (child)[KEY];
        if (key != null) keyed.set(key, child);
    }
    return keyed;
}

/**
 * The existing element for a virtual node, or a new one.
 * @param {VNode} child
 * @param {ChildNode | null} next
 * @param {(key: string) => RenderedElement | null} findKeyed
 * @param {Element} parent
 * @returns {Element}
 */
function elementFor(child, next, findKeyed, parent) {
    const inPlace = /** @type {RenderedElement | null} */ (next);
    const isInPlace = child.key === null || (inPlace instanceof Element && inPlace[KEY] === child.key);
    const candidate = isInPlace ? inPlace : findKeyed(/** @type {string} */ (child.key));
    if (candidate instanceof Element && candidate.localName === child.tag && (candidate[KEY] ?? null) === child.key)
        return candidate;
    const inSvg = child.tag === "svg" || parent.namespaceURI === SVG;
    const element = /** @type {RenderedElement} */ (
        inSvg ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag)
    );
    element[KEY] = child.key;
    // Browsers honour `autofocus` only while a page loads.
    if (child.attributes.autofocus && element instanceof HTMLElement) queueMicrotask(() => element.focus());
    return element;
}

/**
 * @param {string} text
 * @param {ChildNode | null} next
 * @returns {Text}
 */
function textFor(text, next) {
    if (!(next instanceof Text)) return document.createTextNode(text);
    if (next.data !== text) next.data = text;
    return next;
}

/**
 * @param {RenderedElement} node
 * @param {VNode} child
 */
function update(node, child) {
    // The same object means that nothing has changed.
    if (node[VNODE] === child) return;
    node[VNODE] = child;
    const before = node[ATTRIBUTES] ?? {};
    for (const name of Object.keys(before)) if (!(name in child.attributes)) assign(node, name, null);
    const properties = [];
    for (const [name, value] of Object.entries(child.attributes)) {
        if (name.startsWith(".")) properties.push([name, value]);
        else if (before[name] !== value) assign(node, name, value);
    }
    if (!child.managesChildren) render(node, child.children);
    // Properties come last: a select takes its value only once its options exist.
    for (const [name, value] of properties) setProperty(node, String(name).slice(1), value);
    node[ATTRIBUTES] = child.attributes;
}

/**
 * @param {RenderedElement} node
 * @param {string} name
 * @param {unknown} value
 */
function assign(node, name, value) {
    if (name.startsWith("on")) listen(node, name.slice(2), /** @type {EventListener | null} */ (value));
    else if (name.startsWith("--"))
        /** @type {RenderedElement & ElementCSSInlineStyle} */ (node).style.setProperty(name, String(value ?? ""));
    else if (name.startsWith(".")) return;
    else if (value === null || value === undefined || (value === false && !name.startsWith("aria-")))
        node.removeAttribute(name);
    else if (name === "class" && Array.isArray(value)) node.setAttribute(name, value.filter(Boolean).join(" "));
    else node.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
}

/**
 * @param {RenderedElement} node
 * @param {string} name
 * @param {unknown} value
 */
function setProperty(node, name, value) {
    const properties = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (node));
    if (properties[name] !== value) properties[name] = value;
}

/**
 * Adds one permanent listener per event type, which calls the listener of the latest virtual node.
 * @param {RenderedElement} node
 * @param {string} type
 * @param {EventListener | null} listener
 */
function listen(node, type, listener) {
    const listeners = (node[LISTENERS] ??= {});
    if (!(type in listeners)) node.addEventListener(type, (event) => listeners[type]?.call(node, event));
    listeners[type] = listener ?? undefined;
}
