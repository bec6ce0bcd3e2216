// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { FunctionCost, Kind, LineCost } from "../api/types";
import { isUntimed, mostCalled, mostRun, sumOf, withTime } from "./counts";

const fn = (name: string, kind: Kind, calls: number) => ({ name, kind, calls }) as FunctionCost;

test("calls that were counted without a clock have no times, and others do", () => {
	const counted = { is_exact: true, has_calls: true, total: 0, unit: "s" as const };
	expect(isUntimed(counted)).toBe(true);
	expect([isUntimed({ ...counted, total: 0.1 }), isUntimed({ ...counted, is_exact: false }), isUntimed({ ...counted, unit: "bytes" })]).toEqual([false, false, false]);
});

test("who counts is sent to code of their own", () => {
	const rows = [fn("random", Kind.Library, 900), fn("<module>", Kind.Own, 999), fn("slow", Kind.Own, 30), fn("score", Kind.Own, 300)];
	expect(mostCalled(rows)?.name).toBe("score");
	expect(mostCalled([rows[0]])).toBe(undefined);
	expect(sumOf(rows, (row) => row.calls)).toBe(2229);
	expect(mostRun([{ hits: 1 }, { hits: 7 }, { hits: 0 }, { hits: null }] as LineCost[]).map((row) => row.hits)).toEqual([7, 1]);
});

test("rows without any time are left out where others have some", () => {
	const rows = [{ self: 0, total: 2 }, { self: 0, total: 0 }];
	expect(withTime(rows)).toEqual([rows[0]]);
	expect(withTime([rows[1]])).toEqual([rows[1]]);
});
