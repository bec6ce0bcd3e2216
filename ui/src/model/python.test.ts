// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { marked, piecesOf, placeOfByte } from "./python";

test("no letter is lost or added, whatever the line", () => {
	for (const line of ["def f(x): # hi", "x = 'it\\'s' + \"two", "f'''a''' + 0x1F", "é = \"ü\"", "<script>alert(1)</script>", "'", "", "\tif 1e5:"])
		expect(piecesOf(line, "").pieces.map((p) => p.text).join("")).toBe(line);
});

test("words, strings, comments and numbers are told apart", () => {
	const kinds = piecesOf("return '#no' + 12  # yes", "").pieces.filter((p) => p.kind);
	expect(kinds).toEqual([
		{ text: "return", kind: "kw" }, { text: "'#no'", kind: "str" }, { text: "12", kind: "num" }, { text: "# yes", kind: "com" },
	]);
});

test("a long string goes on until its quotes", () => {
	const first = piecesOf('x = """doc', "");
	expect(first.open).toBe('"""');
	expect(piecesOf("def inside", first.open)).toEqual({ pieces: [{ text: "def inside", kind: "str" }], open: '"""' });
	expect(piecesOf('end""" if', first.open).pieces[0]).toEqual({ text: 'end"""', kind: "str" });
});

test("the hot part is cut out by bytes", () => {
	const line = "é = fib(n)";
	const from = placeOfByte(line, 5);
	const to = placeOfByte(line, 11);
	expect(marked(piecesOf(line, "").pieces, from, to).filter((p) => p.isHot).map((p) => p.text).join("")).toBe("fib(n)");
});
