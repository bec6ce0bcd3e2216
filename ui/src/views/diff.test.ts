// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { DiffRow, DiffValue } from "../api/types";
import { START } from "../model/place";
import { changeInWords, chosenRows, columnsOf, otherOf, questionOf } from "./diff";

const value = (a: number, b: number, spread: number, is_named: boolean): DiffValue => ({ a, b, change: b - a, low: b - a - spread, high: b - a + spread, is_named });
const row = (name: string, self: DiffValue, total = self): DiffRow => ({ name, file: "/x/a.py", line: 3, self, total });

test("a change reads as the terminal prints it", () => {
	expect(changeInWords(value(0.756, 1.23, 0.093, true), "s").replaceAll("\u00a0", " ")).toBe("756 ms → 1.23 s: +474 ms, +62.7 % ±12.3 %");
	expect(changeInWords(value(0, 2, 1, true), "s").replaceAll("\u00a0", " ")).toBe("0 s → 2.00 s: +2.00 s, new");
	expect(changeInWords(value(0.5, 0.25, 0.1, true), "share").replaceAll("\u00a0", " ")).toBe("50.0 % → 25.0 %: −25.0 %, −50.0 % ±20.0 %");
});

test("rows within the noise are shown when asked for, the largest change first", () => {
	const rows = [row("a", value(1, 1.1, 0.3, false)), row("b", value(1, 2, 0.1, true)), row("c", value(5, 1, 0.1, true))];
	expect(chosenRows(rows, false, false, "").map((r) => r.name)).toEqual(["c", "b"]);
	expect(chosenRows(rows, false, true, "^[ab] ").map((r) => r.name)).toEqual(["b", "a"]);
	expect(chosenRows(rows, false, false, "(").length).toBe(2);
});

test("by total, the total stands first and decides", () => {
	const rows = [row("a", value(1, 1, 0.1, false), value(1, 3, 0.1, true))];
	expect(chosenRows(rows, true, false, "").length).toBe(1);
	const cells = columnsOf(rows, "s", true, false).map((c) => [c.title, c.text(rows[0])]);
	expect(cells.slice(0, 3)).toEqual([["", "▲"], ["total (s)", "+2.00"], ["interval", "±0.100"]]);
	expect(columnsOf(rows, "s", false, false)[0].text(rows[0])).toBe("");
});

test("the other recording is the one chosen, else the next", () => {
	const all = [0, 1, 2].map((r) => ({ r, name: "", path: "", command: "" }));
	expect(otherOf({ ...START, r: 0 }, all)).toBe(1);
	expect(otherOf({ ...START, r: 2 }, all)).toBe(0);
	expect(otherOf({ ...START, r: 0, with: 2 }, all)).toBe(2);
	expect(otherOf({ ...START, r: 0, with: 0 }, all)).toBe(1);
	expect(otherOf(START, all.slice(0, 1))).toBeUndefined();
});

test("the unit of work is asked for only where it counts", () => {
	expect(questionOf({ ...START, unit: "epoch" }, 1).unit).toBeUndefined();
	expect(questionOf({ ...START, unit: "epoch", normalize: "unit" }, 1)).toMatchObject({ with: 1, normalize: "unit", unit: "epoch" });
});
