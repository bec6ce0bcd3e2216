// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { Finding, SourceFile } from "../api/types";
import { commandOf, placeOf, savingOf, textOf } from "./finding";

const finding = (file: string | null, line: number | null): Finding => ({
	rule: "sync", title: "Waiting", file, line, evidence: "", change: "", saving: null, saving_unknown: null, confidence: "bound", proof: { shows: "leadline report FILE --ops", proves: "leadline diff FILE AFTER --ops" },
});
const file = (path: string, has_text = true): SourceFile => ({ file: path, self: 0, total: 0, n_lines: 10, has_text, is_library: false });

test("a place is a file and a line, as far as they are known", () => {
	expect([placeOf(finding("train.py", 40)), placeOf(finding("train.py", null)), placeOf(finding(null, null))]).toEqual(["train.py:40", "train.py", ""]);
});

test("the source of a finding is the one file that can be meant, with text", () => {
	const one = finding("lib/train.py", 40);
	expect(textOf(one, [file("/x/lib/train.py"), file("/x/train.py")])).toBe("/x/lib/train.py");
	expect(textOf(one, [file("/x/lib/train.py"), file("/y/lib/train.py")])).toBe("");
	expect(textOf(one, [file("lib/train.py"), file("/y/lib/train.py")])).toBe("lib/train.py");
	expect(textOf(one, [file("/x/otherlib/train.py"), file("/x/lib/train.py", false)])).toBe("");
	expect(textOf(finding(null, null), [file("/x/null")])).toBe("");
});

test("commands are for the file that is open, as a shell takes it", () => {
	expect(commandOf("leadline diff FILE AFTER --ops", "/x/a.lead")).toBe("leadline diff /x/a.lead AFTER --ops");
	expect(commandOf("leadline report FILE", "it's; rm $x")).toBe("leadline report 'it'\\''s; rm $x'");
	expect(commandOf("leadline report FILE", "-o.lead")).toBe("leadline report ./-o.lead");
	expect(commandOf("leadline report FILE", "")).toBe("leadline report FILE");
});

test("a saving is told as most likely, then as a bound, with their shares where the whole is known", () => {
	const plain = (text: string) => text.replaceAll("\u00a0", " ");
	const saving = { value: 1.8, estimate: 1.2, unit: "s" as const, of: "the steps", whole: 3 };
	expect(plain(savingOf(saving))).toBe("about 1.20 s, 40.0 % of the steps; at most 1.80 s, 60.0 %");
	expect(plain(savingOf({ ...saving, estimate: null }))).toBe("at most 1.80 s, 60.0 % of the steps");
	expect(plain(savingOf({ ...saving, whole: null }))).toBe("about 1.20 s; at most 1.80 s");
	expect(plain(savingOf({ ...saving, estimate: null, whole: null, unit: "bytes", value: 1 << 20 }))).toBe("at most 1.00 MiB");
});
