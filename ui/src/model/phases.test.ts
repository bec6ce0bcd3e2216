// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { Phase } from "../api/torch";
import { selectable } from "./phases";

const phase = (name: string, total_s: number | null, times = 1): Phase => ({ name, total_s, times });

test("training and validation can be looked at alone, where there is something else", () => {
	const all = [phase("imports", 3), phase("set-up", null), phase("validation", 1, 2), phase("training", 8, 30)];
	expect(selectable(all).map((one) => one.name)).toEqual(["training", "validation"]);
	expect(selectable([phase("training", 8, 30), phase("imports", 0)])).toEqual([]);
	expect(selectable([phase("imports", 3), phase("validation", 0, 0), phase("training", 1, 1)]).map((one) => one.name)).toEqual(["training"]);
	expect(selectable([])).toEqual([]);
});
