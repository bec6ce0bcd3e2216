// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { formatPlace, isPart, nameOfPattern, parsePlace, patternOf, START } from "./place";

test("an address leads back to the same place", () => {
	const place = {
		...START, view: "flame", r: 1, from: 0.5, to: 2, thread: "#1,#3", state: "cpu", memory: "growth", onlyMine: true, focus: ["^a\\.b$", "x&y=1"],
		drop: ["%20 +"], f: 0, line: 12, file: "/tmp/ä b.py", q: "<script>", node: "k7", collapse: true,
	};
	expect(parsePlace(formatPlace(place))).toEqual(place);
});

test("nothing and nonsense lead to the start", () => {
	expect(parsePlace("")).toEqual(START);
	expect(parsePlace("#/?from=abc&f=&nobody=1&__proto__=2")).toEqual(START);
	expect(formatPlace(START)).toBe("#/overview");
});

test("a pattern finds its function and no other", () => {
	const pattern = patternOf("C.<locals>.f", "/x/a+b (1).py", 3);
	expect(new RegExp(pattern).test("C.<locals>.f (/x/a+b (1).py:3)")).toBe(true);
	expect(new RegExp(pattern).test("Cx<locals>.f (/x/a+b (1).py:3)")).toBe(false);
	expect(nameOfPattern(patternOf("C.<locals>.f", "/x/ab.py", 3))).toBe("C.<locals>.f");
	expect(nameOfPattern("^fib|main")).toBe("^fib|main");
});

test("a part of the run is whatever leaves some of its time out", () => {
	expect([isPart(START), isPart({ ...START, phase: "training" }), isPart({ ...START, to: 2 }), isPart({ ...START, state: "cpu" }), isPart({ ...START, memory: "peak" }), isPart({ ...START, drop: ["x"] }), isPart({ ...START, onlyMine: true })]).toEqual([false, true, true, true, true, true, false]);
});
