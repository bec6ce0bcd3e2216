// SPDX-License-Identifier: MIT
// Colour means something: hue is the level (whose code, or what a thread does), heat is one perceptual scale,
// change is blue to orange. All of them can be told apart without seeing red and green.
import { Kind } from "../api/types";

interface Hue {
	hue: number;
	saturation: number;
}

/** Amber, sand, sky, grey: also marked by their left edge (solid, none, dotted, hatched). */
const KINDS: Record<Kind, Hue> = {
	[Kind.Own]: { hue: 38, saturation: 85 },
	[Kind.Library]: { hue: 50, saturation: 28 },
	[Kind.C]: { hue: 205, saturation: 62 },
	[Kind.Synthetic]: { hue: 0, saturation: 0 },
};

function hash(text: string): number {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return (h >>> 0) / 2 ** 32;
}

const made = new Map<string, string>();

/** Lightness differs by name, so that neighbours can be told apart; text on it keeps AA contrast. */
export function boxColour(kind: Kind, name: string, isDark: boolean): string {
	const key = `${kind}${isDark ? "d" : "l"}${name}`;
	let colour = made.get(key);
	if (colour) return colour;
	const { hue, saturation } = KINDS[kind] ?? KINDS[Kind.Synthetic];
	const vary = hash(name);
	const lightness = isDark ? 24 + vary * 10 : 70 + vary * 14;
	colour = `hsl(${(hue + (vary - 0.5) * 14).toFixed(0)} ${isDark ? saturation * 0.7 : saturation}% ${lightness.toFixed(1)}%)`;
	if (made.size > 20000) made.clear();
	made.set(key, colour);
	return colour;
}

/** Change as a colour: blue less, orange more, grey within the noise. `share`: of the larger of both, −1 … 1. */
export function changeColour(share: number, isNamed: boolean, isDark: boolean): string {
	if (!isNamed) return isDark ? "#3a3c40" : "#e2e0da";
	const strength = Math.min(1, Math.sqrt(Math.abs(share)));
	const lightness = isDark ? 25 + strength * 11 : 88 - strength * 22;
	return `hsl(${share > 0 ? 28 : 212} ${isDark ? 75 : 90}% ${lightness.toFixed(1)}%)`;
}

export const KIND_NAMES: Record<Kind, string> = {
	[Kind.Own]: "your code",
	[Kind.Library]: "library",
	[Kind.C]: "C function",
	[Kind.Synthetic]: "not a function",
};

/** What a thread does, as the legend has it; order of the stacked bar. */
export const STATES: Record<string, { label: string; className: string; hint: string }> = {
	running: { label: "running", className: "running", hint: "on a CPU" },
	cpu: { label: "on a CPU", className: "running", hint: "on a CPU" },
	runnable: { label: "waiting for a CPU", className: "other", hint: "other threads had the CPUs" },
	gil_wait: { label: "waiting for the GIL", className: "gil", hint: "another thread held the interpreter" },
	gc: { label: "collecting garbage", className: "gc", hint: "the cyclic collector ran" },
	waiting: { label: "waiting", className: "waiting", hint: "not on a CPU: IO, locks, sleep" },
	late: { label: "sampler late", className: "other", hint: "the sampler could not look in time" },
	none: { label: "did not exist", className: "none", hint: "" },
};

/** Colours of canvas drawing, by state; the style sheet has the same ones. */
export function stateColour(state: string, isDark: boolean): string {
	const light: Record<string, string> = { running: "#e0a100", gil_wait: "#b5488a", gc: "#6a51a3", waiting: "#a9c7dd", late: "#bdbdbd", none: "transparent" };
	const dark: Record<string, string> = { running: "#c98f00", gil_wait: "#c2609b", gc: "#8d76c4", waiting: "#3c5d75", late: "#5a5a5a", none: "transparent" };
	return (isDark ? dark : light)[state] ?? "#888";
}

/** One scale by lightness, cividis-like: what is hot stands out most from the background of either theme. */
const ON_DARK: [number, number, number][] = [[16, 33, 66], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];
const ON_LIGHT: [number, number, number][] = [[247, 243, 228], [235, 221, 166], [208, 190, 120], [150, 142, 118], [78, 86, 112], [0, 34, 78]];

/** `share` of the largest; the root spreads out what is small. */
export function heat(share: number, isDark: boolean): { fill: string; ink: string } {
	const scale = isDark ? ON_DARK : ON_LIGHT;
	const at = Math.min(1, Math.max(0, Math.sqrt(share))) * (scale.length - 1);
	const i = Math.min(scale.length - 2, Math.floor(at));
	const [r, g, b] = scale[i].map((v, k) => Math.round(v + (scale[i + 1][k] - v) * (at - i)));
	return { fill: `rgb(${r} ${g} ${b})`, ink: luminance(r, g, b) > 0.179 ? "#000" : "#fff" };
}

/** As contrast is reckoned: above 0.179 black is read better than white, on either side with a ratio of 4.5 or more. */
function luminance(...rgb: number[]): number {
	const [r, g, b] = rgb.map((v) => (v <= 10 ? v / 3294 : ((v / 255 + 0.055) / 1.055) ** 2.4));
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
