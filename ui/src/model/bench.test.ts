// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { Benchmark, BenchFile } from "../api/types";
import { axisOf, beyond, historicNames, rowsOf, shareOf } from "./bench";

const bench = (name: string, values: number[]): Benchmark => {
	const sorted = [...values].sort((a, b) => a - b);
	const at = (p: number) => sorted[Math.round(p * (sorted.length - 1))];
	return {
		name, full_name: "", unit: "s", is_command: false, n: values.length, n_processes: 1, n_warmup: 0, loops: 1, least: sorted[0], q1: at(0.25), median: at(0.5), median_low: null,
		median_high: null, q3: at(0.75), most: sorted[sorted.length - 1], mean: 0, mean_low: null, mean_high: null, standard_deviation: null, values, every: 1, processes: [0], quantiles: sorted,
	};
};
const file = (name: string, ...benchmarks: Benchmark[]): BenchFile => ({ file: `/x/${name}`, format: "pyperf", date: "", begun_s: 0, host: "", cpu: "", python: "", commit: "", benchmarks });

test("in one file all stand beside the fastest, in several each beside its oldest", () => {
	const one = rowsOf([file("a.json", bench("x", [2, 2, 2]), bench("y", [1, 1, 1]))], "");
	expect(one.map((r) => [r.label, r.ratio])).toEqual([["x", 2], ["y", 1]]);
	const two = [file("a.json", bench("x", [2, 2, 2]), bench("y", [1, 1, 1])), file("b.json", bench("x", [3, 3, 3]))];
	expect(rowsOf(two, "").map((r) => [r.label, r.sub, r.ratio])).toEqual([["x", "a.json", 1], ["x", "b.json", 1.5], ["y", "a.json", 1]]);
	expect(rowsOf(two, "x").map((r) => r.label)).toEqual(["a.json", "b.json"]);
	expect(historicNames(two)).toEqual(["x"]);
});

test("far values do not squeeze the others, and are told", () => {
	const rows = rowsOf([file("a.json", bench("x", [1, 1.1, 1.2, 1.3, 1.4, 100]))], "");
	const axis = axisOf(rows, "");
	expect(axis.isLog).toBe(false);
	expect(axis.high).toBeLessThan(10);
	expect(beyond(rows, axis)).toBe(1);
	expect(shareOf(axis, axis.low)).toBe(0);
	expect(shareOf(axis, axis.high)).toBe(1);
	expect(beyond(rows, axisOf(rows, "log"))).toBe(0);
});

test("benchmarks of very different sizes share a logarithmic axis", () => {
	const rows = rowsOf([file("a.json", bench("x", [1e-6, 1e-6]), bench("y", [1e-3, 1e-3]))], "");
	const axis = axisOf(rows, "");
	expect([axis.isLog, axis.ticks.map((t) => Number(t.toPrecision(3)))]).toEqual([true, [1e-6, 1e-5, 1e-4, 1e-3]]);
	expect(axisOf(rows, "linear").isLog).toBe(false);
});

test("equal values and zeros leave an axis to draw on", () => {
	for (const values of [[1, 1], [0, 0], [0, 1]])
		for (const scale of ["", "log", "linear"]) {
			const axis = axisOf(rowsOf([file("a.json", bench("x", values))], ""), scale);
			expect(axis.high).toBeGreaterThan(axis.low);
			expect(Number.isFinite(shareOf(axis, values[0]))).toBe(true);
		}
});
