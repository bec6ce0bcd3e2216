// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { LineCost } from "../api/types";
import { lineToLookAt } from "./lines";

const line = (file: string, self: number, is_wait = false) => ({ file, line: 1, function: "f", function_id: 1, hits: null, self, total: self, is_wait }) as unknown as LineCost;

test("a library's line leads only where no line is the user's own", () => {
	const library = { ...line("/v/lib/python3.12/site-packages/torch/autograd/graph.py", 9), is_library: true };
	const own = line("/srv/train.py", 1);
	expect(lineToLookAt([library, own])).toBe(own);
	expect(lineToLookAt([library])).toBe(library);
});

test("nobody is sent to where a program waits for work, or to importlib", () => {
	const own = line("/srv/app.py", 1);
	expect(lineToLookAt([own, line("/usr/lib/python3.12/selectors.py", 9, true), line("<frozen importlib._bootstrap>", 5)])).toBe(own);
	expect(lineToLookAt([line("/usr/lib/python3.12/selectors.py", 9, true)])).toBe(undefined);
});
