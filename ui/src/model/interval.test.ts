// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { scaleFor } from "./format";
import { isEven, spread, spreadCell } from "./interval";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

test("an interval that is longer on one side is told by its ends", () => {
	expect(plain(spread(1, 0.9, 1.1, "s"))).toBe("±100 ms");
	// One sample of a second: it may well be six, but not minus four.
	expect(plain(spread(1, 0.18, 5.6, "s"))).toBe("0.180–5.60 s");
	expect(plain(spread(0.001, 0.0009, 0.0031, "s"))).toBe("0.900–3.10 ms");
	expect(plain(spread(0.2, 0.0015, 12.5, "s"))).toBe("1.50 ms–12.5 s");
	expect(spread(1, null, 2, "s")).toBe("");
});

test("a little more on one side is still a half", () => {
	expect([isEven(10, 8.1, 12.3), isEven(10, 9.9, 14), isEven(0, 0, 3), isEven(2, 2, 2)]).toEqual([true, false, false, true]);
});

test("cells keep to the unit of their column", () => {
	const scale = scaleFor(2, "s");
	expect([spreadCell(1, 0.9, 1.1, scale), spreadCell(0.1, 0.02, 0.5, scale), spreadCell(1, undefined, 1, scale)]).toEqual(["±0.100", "0.0200–0.500", "–"]);
	expect(spreadCell(0.1, 1e-7, 0.5, scale)).toBe("~0–0.500");
});
