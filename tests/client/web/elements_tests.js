import { h, render } from "/client/web/shell/elements.js";
import { assert, assertEqual, test } from "./testing.js";

function parent() {
    const node = document.createElement("div");
    document.body.append(node);
    return node;
}

test("text with HTML in it adds no elements", () => {
    const node = parent();
    const html = '<img src=x onerror="window.broken=1">';
    render(node, h("p", { title: html }, html, [html]));
    assertEqual([node.querySelectorAll("*").length, node.textContent, node.firstElementChild.title], [1, html + html, html]);
});

test("an element that is rendered again keeps its focus and its typed text", () => {
    const node = parent();
    const draw = (extra) =>
        render(node, extra && h("b", null, "new"), h("input", { key: "name", class: "field" }), h("i"));
    draw(false);
    const input = node.querySelector("input");
    input.focus();
    input.value = "typed";
    draw(true);
    assert(node.querySelector("input") === input && document.activeElement === input, "the field was kept");
    assertEqual([input.value, [...node.children].map((child) => child.localName)], ["typed", ["b", "input", "i"]]);
});

test("elements with keys move with their keys", () => {
    const node = parent();
    const draw = (...keys) =>
        render(
            node,
            keys.map((key) => h("li", { key }, key)),
        );
    draw("a", "b", "c");
    const [a, b, c] = node.children;
    draw("c", "a", "d");
    assertEqual(
        [...node.children].map((child) => child.textContent),
        ["c", "a", "d"],
    );
    assert(node.children[0] === c && node.children[1] === a && !b.isConnected, "the elements moved with their keys");
});

test("attributes and classes that a virtual node no longer has are removed", () => {
    const node = parent();
    render(node, h("button", { class: ["a", false, "b"], disabled: true, "aria-pressed": true, "--part": "0.5" }));
    const button = node.firstElementChild;
    assertEqual(
        [
            button.className,
            button.disabled,
            button.getAttribute("aria-pressed"),
            button.style.getPropertyValue("--part"),
        ],
        ["a b", true, "true", "0.5"],
    );
    render(node, h("button", { "aria-pressed": false }));
    assertEqual(
        [node.firstElementChild === button, button.className, button.disabled, button.getAttribute("aria-pressed")],
        [true, "", false, "false"],
    );
});

test("only the listener of the latest virtual node is called", () => {
    const node = parent();
    const calls = [];
    const draw = (name) => render(node, h("button", name ? { onclick: () => calls.push(name) } : null));
    draw("first");
    draw("second");
    node.firstElementChild.click();
    draw(null);
    node.firstElementChild.click();
    assertEqual(calls, ["second"]);
});

test("the children of an element with `managesChildren` are left alone", () => {
    const node = parent();
    render(node, h("g", { managesChildren: true }));
    node.firstElementChild.append("mine");
    render(node, h("g", { managesChildren: true, class: "x" }));
    assertEqual(node.textContent, "mine");
});

test("elements inside an svg element are SVG elements", () => {
    const node = parent();
    render(node, h("svg", null, h("g", null, h("circle", { r: 1 }))));
    assert(node.querySelector("circle") instanceof SVGCircleElement, "the circle is an SVG circle");
});
