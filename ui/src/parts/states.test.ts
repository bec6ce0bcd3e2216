// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { COMMAND } from "./states";

const commands = (text: string) => text.split(COMMAND).filter((_, i) => i % 2);

test("what is to be typed is told from what is said about it", () => {
	expect(commands("Open two: leadline view before.lead after.lead")).toEqual(["leadline view before.lead after.lead"]);
	expect(commands("Sampling tells: leadline run SCRIPT.py, then look")).toEqual(["leadline run SCRIPT.py"]);
	expect(commands("leadline run keeps it for functions")).toEqual(["leadline run"]);
	expect(commands("record with --native")).toEqual(["--native"]);
	expect(commands("nothing to type")).toEqual([]);
});
