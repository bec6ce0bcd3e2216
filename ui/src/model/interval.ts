// SPDX-License-Identifier: MIT
// Intervals in words: "±" only where both sides are about as long, else both ends. Pure.
import { Unit } from "../api/types";
import { amount, Scale, scaled, scaleFor } from "./format";

/** How far its middle may lie from the value, of half its width, before "±" would tell an untruth. */
const UNEVEN = 0.2;

/** What a column of intervals says of itself. */
export const INTERVAL = "95 % confidence interval: ± where it is symmetric, otherwise both ends";

export function isEven(value: number, low: number, high: number): boolean {
	return Math.abs((low + high) / 2 - value) <= UNEVEN * ((high - low) / 2);
}

/** "0.8–2.1"; where a sign stands before it, "−0.2 to 0.5". */
function ends(low: number, high: number, scale: Scale): string {
	const text = (value: number) => (value !== 0 && Math.abs(value * scale.factor) < 0.001 ? "~0" : scaled(value, scale).replace("-", "−"));
	return low < 0 ? `${text(low)} to ${text(high)}` : `${text(low)}–${text(high)}`;
}

function inUnit(low: number, high: number, unit: Unit): string {
	const scale = scaleFor(Math.max(Math.abs(low), Math.abs(high)), unit);
	// Ends that are far apart have a unit each: nobody counts zeros.
	if (low > 0 && low < 0.01 * high) return `${amount(low, unit)}–${amount(high, unit)}`;
	return `${ends(low, high, scale)}${scale.name && `\u00a0${scale.name}`}`;
}

/** "±0.12 s", or both ends; "": there is no interval. */
export function spread(value: number, low: number | null | undefined, high: number | null | undefined, unit: Unit): string {
	if (low == null || high == null) return "";
	return isEven(value, low, high) ? `±${amount((high - low) / 2, unit)}` : inUnit(low, high, unit);
}

/** The same for a column whose head names the unit: half the width, or both ends. */
export function spreadCell(value: number, low: number | null | undefined, high: number | null | undefined, scale: Scale): string {
	if (low == null || high == null) return "–";
	return isEven(value, low, high) ? `±${scaled((high - low) / 2, scale)}` : ends(low, high, scale);
}
