// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { damaged } from "./damage";

test("a view tells the damage of what it shows", () => {
	const recordings = [
		{ r: 0, name: "a", path: "/a", command: "", damage: "cut" },
		{ r: 1, name: "b", path: "/b", command: "" },
		{ r: 2, name: "c", path: "/c", command: "", damage: "flipped" },
	];
	const names = (view: string, r: number, pane = "") => damaged(recordings, { view, r, pane }).map((one) => one.name);
	expect(names("flame", 0)).toEqual(["a"]);
	expect(names("flame", 1)).toEqual([]);
	expect(names("diff", 1)).toEqual(["a", "c"]);
	expect(names("torch", 2)).toEqual(["c"]);
	expect(names("torch", 1, "distributed")).toEqual(["a", "c"]);
	expect(names("bench", 0)).toEqual([]);
});
