/**
 * A link to share with its QR code. The room's page loads this module after the card that invites.
 *
 * @import {Content} from "../shell/elements.js"
 * @import {Share} from "./share.js"
 */

import { qrCodePath } from "../shell/api.js";
import { h } from "../shell/elements.js";

/** Why there is no link, where the server does not say it. */
const ADVICE = "Only this computer can open the link: its server listens on no network. “plyroom serve” starts one for others.";

/**
 * The link with its QR code, and the other links that may work.
 * @param {Share} share
 * @returns {Content}
 */
export function drawLargeShare(share) {
    const { links, path, advice } = share;
    if (links === null) return share.draw("", true);
    if (links.length === 0) return [h("p", null, advice ?? ADVICE), share.draw("", true)];
    return [
        h("img", { class: "qr", src: qrCodePath(path), alt: "QR code of the link", width: 168, height: 168 }),
        share.draw("", true),
        links.length > 1
            ? h(
                  "details",
                  { class: "other-links" },
                  h("summary", null, "It does not open?"),
                  h("p", { class: "muted" }, "Your friend must be in the same network. Other addresses of this server:"),
                  links.slice(1).map((url, i) => share.drawLink(`Other link ${i + 1}`, url)),
              )
            : null,
    ];
}
