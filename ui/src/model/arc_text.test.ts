// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { fitted, lettersOn } from "./arc_text";

const six = () => 6;

test("a text keeps to its room, and says that it was cut", () => {
	expect(fitted("iterencode", 60, six)).toBe("iterencode");
	expect(fitted("iterencode", 59, six)).toBe("iterenco…");
	expect(fitted("iterencode", 20, six)).toBe("");
	expect(fitted("", 20, six)).toBe("");
});

test("letters stand around the middle, with the clock above and against it below", () => {
	const angles = (isBelow: boolean) => lettersOn("abc", 1, 60, isBelow, six).map(({ letter, angle }) => [letter, Number(angle.toFixed(6))]);
	expect(angles(false)).toEqual([["a", 0.9], ["b", 1], ["c", 1.1]]);
	expect(angles(true)).toEqual([["a", 1.1], ["b", 1], ["c", 0.9]]);
});
