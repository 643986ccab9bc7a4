/**
 * The user's settings, which the browser stores: the look of boards, animation and sounds. The root
 * element has each setting as `data-NAME`, so that style sheets can read it; theme-early.js sets
 * these attributes before the first paint.
 */

/** The values of each setting; the first one is the default. */
export const SETTING_VALUES = {
    board: ["wood", "slate", "contrast"],
    pieces: ["classic", "bold"],
    coordinates: ["on", "off"],
    animation: ["on", "off"],
    sound: ["off", "on"],
};

/** @typedef {keyof typeof SETTING_VALUES} SettingName */

/**
 * The value of a setting.
 * @param {SettingName} name
 */
export function setting(name) {
    const values = SETTING_VALUES[name];
    const value = document.documentElement.dataset[name] ?? "";
    return values.includes(value) ? value : values[0];
}

/**
 * Changes a setting at once and stores it. A default is not stored, so that a later version may
 * choose another one.
 * @param {SettingName} name
 * @param {string} value
 */
export function changeSetting(name, value) {
    const isDefault = value === SETTING_VALUES[name][0];
    if (isDefault) delete document.documentElement.dataset[name];
    else document.documentElement.dataset[name] = value;
    try {
        if (isDefault) localStorage.removeItem(name);
        else localStorage.setItem(name, value);
    } catch {
        // Without storage the choice lasts as long as the page.
    }
}
