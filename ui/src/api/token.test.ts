// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { arrivalOf, linkWith } from "./token";

test("an address brings a token or a code, and maybe a place", () => {
	expect(arrivalOf("#token=aB-_9")).toEqual({ kind: "token", value: "aB-_9", hash: "" });
	expect(arrivalOf("#code=x/flame?q=a%20b")).toEqual({ kind: "code", value: "x", hash: "#/flame?q=a%20b" });
	for (const other of ["", "#", "#/flame", "#/flame?q=token=x", "#token=", "#token=a b", "#tokens=a"]) expect(arrivalOf(other)).toBeUndefined();
});

test("a link brings the same place and the token", () => {
	const link = linkWith("abc", new URL("http://127.0.0.1:8000/hub/"), "#/flame?thread=%231");
	expect(link).toBe("http://127.0.0.1:8000/hub/#token=abc/flame?thread=%231");
	expect(arrivalOf(new URL(link).hash)).toEqual({ kind: "token", value: "abc", hash: "#/flame?thread=%231" });
	expect(linkWith("abc", new URL("http://127.0.0.1:8000/"), "")).toBe("http://127.0.0.1:8000/#token=abc");
});
