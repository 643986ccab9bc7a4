/**
 * Short sounds for what happens in a match, made by the browser's synthesizer. They play only if the
 * user has turned them on.
 */

import { setting } from "../../shell/settings.js";

/** @typedef {"move" | "capture" | "turn" | "low" | "won" | "lost" | "end"} Sound */

/**
 * A note: its start and length in seconds, its frequency at both ends in hertz, and its loudness
 * from 0 to 1.
 * @typedef {{at: number, length: number, from: number, to?: number, gain: number, wave?:
 *     OscillatorType}} Note
 */

/** The notes of each sound. @type {Record<Sound, Note[]>} */
const NOTES = {
    move: [{ at: 0, length: 0.07, from: 420, to: 190, gain: 0.35, wave: "triangle" }],
    capture: [
        { at: 0, length: 0.06, from: 520, to: 240, gain: 0.35, wave: "triangle" },
        { at: 0.07, length: 0.1, from: 260, to: 110, gain: 0.4, wave: "triangle" },
    ],
    turn: [
        { at: 0.14, length: 0.16, from: 660, gain: 0.16 },
        { at: 0.26, length: 0.24, from: 880, gain: 0.16 },
    ],
    low: [
        { at: 0, length: 0.08, from: 988, gain: 0.2, wave: "square" },
        { at: 0.14, length: 0.08, from: 988, gain: 0.2, wave: "square" },
    ],
    won: [
        { at: 0.1, length: 0.2, from: 523, gain: 0.18 },
        { at: 0.24, length: 0.2, from: 659, gain: 0.18 },
        { at: 0.38, length: 0.45, from: 784, gain: 0.18 },
    ],
    lost: [
        { at: 0.1, length: 0.25, from: 392, gain: 0.18 },
        { at: 0.3, length: 0.5, from: 294, gain: 0.18 },
    ],
    end: [
        { at: 0.1, length: 0.22, from: 494, gain: 0.18 },
        { at: 0.28, length: 0.4, from: 494, gain: 0.18 },
    ],
};
/** The loudness to which a note fades; an exponential ramp cannot reach 0. */
const SILENCE = 0.001;

/** @type {AudioContext | null} */
let context = null;

/**
 * Plays a sound if sounds are on and the browser allows it: a page may play sounds only after the
 * user has clicked or pressed a key in it.
 * @param {Sound} sound
 */
export function playSound(sound) {
    if (setting("sound") !== "on" || !navigator.userActivation?.hasBeenActive) return;
    context ??= new AudioContext();
    void context.resume();
    for (const note of NOTES[sound]) playNote(context, note);
}

/**
 * @param {AudioContext} audio
 * @param {Note} note
 */
function playNote(audio, { at, length, from, to = from, gain, wave = "sine" }) {
    const start = audio.currentTime + at;
    const oscillator = new OscillatorNode(audio, { type: wave, frequency: from });
    const loudness = new GainNode(audio, { gain });
    oscillator.frequency.setValueAtTime(from, start);
    oscillator.frequency.exponentialRampToValueAtTime(to, start + length);
    loudness.gain.setValueAtTime(gain, start);
    loudness.gain.exponentialRampToValueAtTime(SILENCE, start + length);
    oscillator.connect(loudness).connect(audio.destination);
    oscillator.start(start);
    oscillator.stop(start + length);
}
