// SPDX-License-Identifier: MIT
// Recordings that were counted without a clock (run --count): what is known of them are calls, and lines' hits. Pure.
import { FunctionCost, Kind, LineCost, Overview } from "../api/types";

/** Nothing in it has a time: what is 0 there was not measured. */
export function isUntimed(overview: Pick<Overview, "is_exact" | "has_calls" | "total" | "unit">): boolean {
	return overview.is_exact && overview.has_calls && overview.unit === "s" && !(overview.total > 0);
}

export const NO_TIMES = "This recording has counts, not times. To see where the time goes: leadline run SCRIPT.py (sampled) or leadline run --trace SCRIPT.py (every call timed)";

export function sumOf<Row>(rows: Row[], value: (row: Row) => number | null): number {
	return rows.reduce((sum, row) => sum + (value(row) ?? 0), 0);
}

/** Of the most frequent, the first that is the user's own to change. */
export function mostCalled(rows: FunctionCost[]): FunctionCost | undefined {
	return rows.filter((row) => row.kind === Kind.Own && row.name !== "<module>").sort((a, b) => (b.calls ?? 0) - (a.calls ?? 0))[0];
}

/** Lines that ran most often. */
export function mostRun(rows: LineCost[]): LineCost[] {
	return rows.filter((row) => (row.hits ?? 0) > 0).sort((a, b) => (b.hits ?? 0) - (a.hits ?? 0));
}

/** Rows that took no time that could be measured say nothing beside those that did. */
export function withTime<Row extends { self: number; total: number }>(rows: Row[]): Row[] {
	const some = rows.filter((row) => row.self > 0 || row.total > 0);
	return some.length ? some : rows;
}
