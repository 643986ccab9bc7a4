import { h, render } from "/client/web/elements.js";
import { holds, promise, same } from "./promises.js";

function parent() {
    const node = document.createElement("div");
    document.body.append(node);
    return node;
}

promise("text is text: neither names nor attributes can bring elements in", () => {
    const node = parent();
    const evil = '<img src=x onerror="window.broken=1">';
    render(node, h("p", { title: evil }, evil, [evil]));
    same([node.querySelectorAll("*").length, node.textContent, node.firstElementChild.title], [1, evil + evil, evil]);
});

promise("an element that is described again is kept with its focus and what was typed", () => {
    const node = parent();
    const draw = (extra) =>
        render(node, extra && h("b", null, "new"), h("input", { key: "name", class: "field" }), h("i"));
    draw(false);
    const input = node.querySelector("input");
    input.focus();
    input.value = "typed";
    draw(true);
    holds(node.querySelector("input") === input && document.activeElement === input, "the field was kept");
    same([input.value, [...node.children].map((child) => child.localName)], ["typed", ["b", "input", "i"]]);
});

promise("keyed children follow their key when they change places", () => {
    const node = parent();
    const draw = (...keys) =>
        render(
            node,
            keys.map((key) => h("li", { key }, key)),
        );
    draw("a", "b", "c");
    const [a, b, c] = node.children;
    draw("c", "a", "d");
    same(
        [...node.children].map((child) => child.textContent),
        ["c", "a", "d"],
    );
    holds(node.children[0] === c && node.children[1] === a && !b.isConnected, "nodes moved with their keys");
});

promise("attributes, classes and properties that are gone from a description are gone from the page", () => {
    const node = parent();
    render(node, h("button", { class: ["a", false, "b"], disabled: true, "aria-pressed": true, "--part": "0.5" }));
    const button = node.firstElementChild;
    same(
        [
            button.className,
            button.disabled,
            button.getAttribute("aria-pressed"),
            button.style.getPropertyValue("--part"),
        ],
        ["a b", true, "true", "0.5"],
    );
    render(node, h("button", { "aria-pressed": false }));
    same(
        [node.firstElementChild === button, button.className, button.disabled, button.getAttribute("aria-pressed")],
        [true, "", false, "false"],
    );
});

promise("only the listener of the latest description is called", () => {
    const node = parent();
    const heard = [];
    const draw = (word) => render(node, h("button", word ? { onclick: () => heard.push(word) } : null));
    draw("first");
    draw("second");
    node.firstElementChild.click();
    draw(null);
    node.firstElementChild.click();
    same(heard, ["second"]);
});

promise("an element with children of its own keeps them", () => {
    const node = parent();
    render(node, h("g", { own: true }));
    node.firstElementChild.append("mine");
    render(node, h("g", { own: true, class: "x" }));
    same(node.textContent, "mine");
});

promise("inside svg everything is svg", () => {
    const node = parent();
    render(node, h("svg", null, h("g", null, h("circle", { r: 1 }))));
    holds(node.querySelector("circle") instanceof SVGCircleElement, "the circle can be seen");
});
