// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { amount, briefly, count, counted, digits, moment, percent, place, scaleFor, scaled, ticks, shortCommand } from "./format";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

test("numbers have three significant digits", () => {
	expect(digits(1.23456)).toBe("1.23");
	expect(digits(123.456)).toBe("123");
	expect(digits(0.0012345)).toBe("0.00123");
	expect(digits(0)).toBe("0");
	expect(plain(amount(0.0012345, "s"))).toBe("1.23 ms");
	expect(plain(amount(75, "s"))).toBe("75.0 s");
	expect(plain(amount(7200, "s"))).toBe("120 min");
	expect(plain(amount(3 * 2 ** 20, "bytes"))).toBe("3.00 MiB");
	expect(plain(amount(1234567, "count"))).toBe("1 234 567");
	expect(amount(null, "s")).toBe("–");
});

test("a column has one unit, the one of its largest", () => {
	const scale = scaleFor(0.5, "s");
	expect(scale.name).toBe("ms");
	expect(scaled(0.0001, scale)).toBe("0.100");
	expect(scaled(null, scale)).toBe("–");
});

test("shares, counts, places and moments read well", () => {
	expect(plain(percent(0.9421))).toBe("94.2 %");
	expect(plain(percent(0.0001))).toBe("<0.1 %");
	expect(plain(percent(0))).toBe("0.0 %");
	expect(plain(percent(-0.5))).toBe("−50.0 %");
	expect(percent(null)).toBe("–");
	expect(plain(count(1000))).toBe("1 000");
	expect(place("/a/b.py", 3)).toBe("b.py:3");
	expect(place("", 0)).toBe("");
	expect(plain(moment(1.5))).toBe("1.500 s");
	expect(moment(3661.25, 0.01)).toBe("1:01:01.25");
});

test("an axis has round steps within its range", () => {
	expect(ticks(0, 1, 5).at.map((t) => t.toFixed(1))).toEqual(["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
	expect(ticks(5, 5, 5).at).toEqual([5]);
});

test("a command is told without folders", () => {
	expect(shortCommand("/usr/bin/python3 /home/u/a b/work.py --out=/x/y")).toBe("python3 a b/work.py --out=/x/y");
	expect(shortCommand("python3 -c 'x / y'")).toBe("python3 -c 'x / y'");
});

test("moments of a trace are in milliseconds, as fine as the step", () => {
	expect([briefly(0.0042, 0.0002), briefly(0.00425, 1e-6), briefly(0, 0.001), briefly(2.5, 0.1)]).toEqual(["4.2\u00a0ms", "4.250\u00a0ms", "0\u00a0ms", "2.5\u00a0s"]);
});

test("operations have the prefix of their thousands", () => {
	expect([3.2e9, 512, 1e15, 999.4e3, 0].map((value) => plain(counted(value, "FLOP")))).toEqual(["3.20 GFLOP", "512 FLOP", "1.00 PFLOP", "999 kFLOP", "0 FLOP"]);
	expect(plain(counted(25e6, ""))).toBe("25.0 M");
	expect(counted(null, "FLOP")).toBe("–");
});
