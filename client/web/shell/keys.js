/** The key of a shortcut, on any keyboard layout. */

/**
 * The key that a shortcut names: a letter in lower case unless Shift is held, or another key's name.
 *
 * On a layout without Latin letters, and while an input method is on, it is the letter that the key has
 * on a Latin keyboard (UI Events: `code`). A sign stays what was typed: a Hebrew layout has "/" there.
 * @param {{key: string, code?: string, shiftKey?: boolean}} event
 * @returns {string}
 */
export function keyOf({ key, code = "", shiftKey = false }) {
    const isTyped = /^[ -~]$/.test(key);
    const pressed = isTyped ? key : (/^Key([A-Z])$/.exec(code)?.[1] ?? key);
    return pressed.length === 1 && !shiftKey ? pressed.toLowerCase() : pressed;
}
