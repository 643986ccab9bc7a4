/**
 * Descriptions of elements, and the code that makes the page match them. Text is always text:
 * nothing here parses HTML.
 *
 * `h` describes an element, `render` makes a parent's children match: nodes of the same tag and key
 * are kept, so that focus, scrolling and typed text survive. Attributes whose names begin with "on"
 * are listeners, with "." properties, with "--" custom properties of the style.
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {{tag: string, key: string | null, own: boolean, attributes: Record<string, unknown>,
 *     children: (Description | string)[]}} Description
 */
/** @typedef {Description | string | number | null | undefined | false | Content[]} Content */
/**
 * @typedef {Element & {[KEY]?: string | null, [SHOWN]?: Record<string, unknown>, [HEARD]?:
 *     Record<string, EventListener | undefined>, [MADE]?: Description}} Shown
 */

const KEY = Symbol("key");
const SHOWN = Symbol("attributes shown");
const HEARD = Symbol("listeners");
const MADE = Symbol("description");

/**
 * Describes an element. Among the attributes, `key` distinguishes siblings of one tag, and `own`
 * leaves the element's children to the element itself.
 * @param {string} tag
 * @param {Record<string, unknown> | null} [attributes]
 * @param {...Content} children
 * @returns {Description}
 */
export function h(tag, attributes, ...children) {
    const { key = null, own = false, ...rest } = attributes ?? {};
    return {
        tag,
        key: key === null ? null : String(key),
        own: own === true,
        attributes: rest,
        children: flatten(children),
    };
}

/**
 * @param {Content[]} content
 * @returns {(Description | string)[]}
 */
function flatten(content) {
    return content.flatMap((item) => {
        if (Array.isArray(item)) return flatten(item);
        if (item === null || item === undefined || item === false || item === "") return [];
        return typeof item === "object" ? [item] : [String(item)];
    });
}

/**
 * Makes the children of a parent match the descriptions, in order and with minimal changes.
 * @param {Element} parent
 * @param {Content[]} content
 */
export function render(parent, ...content) {
    const keyed = keyedChildren(parent);
    /** @type {ChildNode | null} */
    let next = parent.firstChild;
    for (const child of flatten(content)) {
        const node = typeof child === "object" ? elementFor(child, next, keyed, parent) : textFor(child, next);
        if (node === next) next = node.nextSibling;
        else parent.insertBefore(node, next);
        if (typeof child === "object") update(/** @type {Shown} */ (node), child);
    }
    while (next) {
        const after = next.nextSibling;
        next.remove();
        next = after;
    }
}

/**
 * @param {Element} parent
 * @returns {Map<string, Shown>}
 */
function keyedChildren(parent) {
    const keyed = new Map();
    for (const child of parent.children) {
        const key = /** @type {Shown} */ (child)[KEY];
        if (key != null) keyed.set(key, child);
    }
    return keyed;
}

/**
 * The existing node for a description, or a new one.
 * @param {Description} child
 * @param {ChildNode | null} next
 * @param {Map<string, Shown>} keyed
 * @param {Element} parent
 * @returns {Element}
 */
function elementFor(child, next, keyed, parent) {
    const candidate = child.key === null ? /** @type {Shown | null} */ (next) : keyed.get(child.key);
    if (candidate instanceof Element && candidate.localName === child.tag && (candidate[KEY] ?? null) === child.key)
        return candidate;
    const inSvg = child.tag === "svg" || parent.namespaceURI === SVG;
    const made = /** @type {Shown} */ (
        inSvg ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag)
    );
    made[KEY] = child.key;
    // Browsers honour `autofocus` only while a page loads.
    if (child.attributes.autofocus && made instanceof HTMLElement) queueMicrotask(() => made.focus());
    return made;
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
 * @param {Shown} node
 * @param {Description} child
 */
function update(node, child) {
    // The same description object means that nothing in it has changed.
    if (node[MADE] === child) return;
    node[MADE] = child;
    const before = node[SHOWN] ?? {};
    for (const name of Object.keys(before)) if (!(name in child.attributes)) assign(node, name, null);
    const properties = [];
    for (const [name, value] of Object.entries(child.attributes)) {
        if (name.startsWith(".")) properties.push([name, value]);
        else if (before[name] !== value) assign(node, name, value);
    }
    if (!child.own) render(node, child.children);
    // Properties come last: a select takes its value only once its options exist.
    for (const [name, value] of properties) setProperty(node, String(name).slice(1), value);
    node[SHOWN] = child.attributes;
}

/**
 * @param {Shown} node
 * @param {string} name
 * @param {unknown} value
 */
function assign(node, name, value) {
    if (name.startsWith("on")) listen(node, name.slice(2), /** @type {EventListener | null} */ (value));
    else if (name.startsWith("--"))
        /** @type {Shown & ElementCSSInlineStyle} */ (node).style.setProperty(name, String(value ?? ""));
    else if (name.startsWith(".")) return;
    else if (value === null || value === undefined || (value === false && !name.startsWith("aria-")))
        node.removeAttribute(name);
    else if (name === "class" && Array.isArray(value)) node.setAttribute(name, value.filter(Boolean).join(" "));
    else node.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
}

/**
 * @param {Shown} node
 * @param {string} name
 * @param {unknown} value
 */
function setProperty(node, name, value) {
    const holder = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (node));
    if (holder[name] !== value) holder[name] = value;
}

/**
 * Adds one permanent listener per event type; it calls the listener of the latest description.
 * @param {Shown} node
 * @param {string} type
 * @param {EventListener | null} listener
 */
function listen(node, type, listener) {
    const heard = (node[HEARD] ??= {});
    if (!(type in heard)) node.addEventListener(type, (event) => heard[type]?.call(node, event));
    heard[type] = listener ?? undefined;
}
