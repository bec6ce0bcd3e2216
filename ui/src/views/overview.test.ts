// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { importsInWords, programOf } from "./overview";

test("imports are told by the packages that took most", () => {
	const of = (...names: string[]) => importsInWords(names.map((name) => ({ name, value: 1 })));
	expect(of("torch")).toBe("torch");
	expect(of("torch", "numpy", "re", "os")).toBe("torch, numpy, re and 1\u00a0other");
	expect(of()).toBe("");
});

test("runs of one script are runs of one program, whatever their interpreter and arguments", () => {
	expect(programOf("/usr/bin/python3 /x/a.py 1")).toBe(programOf("python3.12 -X dev b/../a.py 2".replace("b/../", "/y/")));
	expect(programOf("/usr/bin/python3 a.py")).not.toBe(programOf("/usr/bin/python3 b.py"));
	expect(programOf("pytest -q")).toBe("pytest");
});
