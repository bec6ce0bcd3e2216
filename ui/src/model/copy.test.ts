// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { csv, markdown } from "./copy";

const columns = [
	{ title: "self (s)", isNumber: true },
	{ title: "function", isNumber: false },
];

test("Markdown keeps its columns whatever names hold", () => {
	expect(markdown(columns, [["1.2", "a|b\\c\nd"]])).toBe("| self (s) | function |\n|---:|---|\n| 1.2 | a\\|b\\\\c d |\n");
});

test("CSV is quoted where it must be, and no cell is a formula", () => {
	expect(csv(columns, [["1,2", 'say "x"'], ["-1", "=cmd()"]])).toBe('self (s),function\r\n"1,2","say ""x"""\r\n-1,\'=cmd()\r\n');
});
