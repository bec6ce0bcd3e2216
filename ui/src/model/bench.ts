// SPDX-License-Identifier: MIT
// Results of benchmarks: which of them stand beside each other, on which axis, and what one is of another.
import { Benchmark, BenchFile, Unit } from "../api/types";
import { baseOf, ticks } from "./format";

export interface BenchRow {
	key: string;
	b: Benchmark;
	file: BenchFile;
	/** Of the file, in time order. */
	at: number;
	/** What tells it from the others shown: the benchmark, the file, or both. */
	label: string;
	sub: string;
	/** Its median of that of the fastest in its file or, of several files, of the oldest with that benchmark. */
	ratio: number;
}

/** Names in the order of the files, each once. */
export function namesOf(files: BenchFile[]): string[] {
	return [...new Set(files.flatMap((file) => file.benchmarks.map((b) => b.name)))];
}

/** All results, or those of one benchmark; values of several files beside each other. */
export function rowsOf(files: BenchFile[], name: string): BenchRow[] {
	const rows: BenchRow[] = [];
	const fastest = Math.min(...files.flatMap((file) => file.benchmarks.map((b) => b.median)));
	for (const one of name ? [name] : namesOf(files)) {
		let first = 0;
		files.forEach((file, at) => {
			for (const b of file.benchmarks.filter((x) => x.name === one)) {
				first ||= b.median;
				const label = files.length > 1 && name ? baseOf(file.file) : one;
				const sub = files.length > 1 && !name ? baseOf(file.file) : "";
				rows.push({ key: `${at}:${one}:${rows.length}`, b, file, at, label, sub, ratio: b.median / (files.length > 1 ? first : fastest) });
			}
		});
	}
	return rows;
}

export interface Axis {
	low: number;
	high: number;
	isLog: boolean;
	ticks: number[];
}

/** Far values do not squeeze the others: on an even axis it ends 6 interquartile ranges above the third quartile. */
export function axisOf(rows: BenchRow[], scale: string): Axis {
	const medians = rows.map((row) => row.b.median).filter((m) => m > 0);
	const wantsLog = scale ? scale === "log" : Math.max(...medians) > 10 * Math.min(...medians);
	const isLog = wantsLog && medians.length > 0;
	const least = Math.min(...rows.map((row) => row.b.least));
	if (isLog) {
		const low = Math.min(...rows.map((row) => (row.b.least > 0 ? row.b.least : row.b.median)).filter((v) => v > 0)) / 1.1;
		const high = Math.max(...rows.map((row) => row.b.most), low * 10) * 1.1;
		const at: number[] = [];
		for (let e = Math.ceil(Math.log10(low)); e <= Math.log10(high); e++) at.push(10 ** e);
		return { low, high, isLog, ticks: at };
	}
	const top = Math.max(...rows.map(({ b }) => Math.min(b.most, Math.max(b.q3 + 6 * (b.q3 - b.q1), b.median_high ?? 0))));
	const room = (top - least) * 0.04 || top * 0.05 || 1;
	const low = Math.max(0, least - room);
	return { low, high: top + room, isLog, ticks: ticks(low, top + room, 6).at };
}

/** 0 at the left end, 1 at the right one; beyond them where a value lies beyond. */
export function shareOf(axis: Axis, value: number): number {
	if (!axis.isLog) return (value - axis.low) / (axis.high - axis.low);
	return value > 0 ? Math.log(value / axis.low) / Math.log(axis.high / axis.low) : 0;
}

/** How many of the values shown lie to the right of the axis. */
export function beyond(rows: BenchRow[], axis: Axis): number {
	return rows.reduce((n, row) => n + row.b.values.filter((v) => v > axis.high).length * row.b.every, 0);
}

/** Benchmarks that several files have: what a history can be drawn of. */
export function historicNames(files: BenchFile[]): string[] {
	return namesOf(files).filter((name) => files.filter((file) => file.benchmarks.some((b) => b.name === name)).length > 1);
}

/** One unit for all rows, or none. */
export function unitOf(rows: BenchRow[]): Unit {
	return rows[0]?.b.unit ?? "s";
}
