// SPDX-License-Identifier: MIT
// Findings: what their levels mean, which file of the recording they point at, and their commands for this recording. Pure.
import { Confidence, Finding, Saving, SourceFile } from "../api/types";
import { amount, percent } from "./format";

/** As leadline report explains them. */
export const MEANINGS: Record<Confidence, string> = {
	measured: "the change removes what was measured",
	bound: "the change removes part of what was measured; a second run shows how much",
	heuristic: "judged by names, counts or estimates, or from little data",
};

/** "train.py:40"; "": no place is known. */
export function placeOf(finding: Finding): string {
	if (!finding.file) return "";
	return finding.line === null ? finding.file : `${finding.file}:${finding.line}`;
}

/** "about 1.20 s, 40 % of the steps; at most 1.80 s, 60 %". */
export function savingOf({ value, estimate, unit, of, whole }: Saving): string {
	const share = (part: number) => (whole ? `, ${percent(part / whole)}` : "");
	const ofWhat = whole ? ` of ${of}` : "";
	if (estimate === null) return `at most ${amount(value, unit)}${share(value)}${ofWhat}`;
	return `about ${amount(estimate, unit)}${share(estimate)}${ofWhat}; at most ${amount(value, unit)}${share(value)}`;
}

/** The file whose text the recording holds, by its whole path: traces shorten names. "": there is none, or more than one may be meant. */
export function textOf(finding: Pick<Finding, "file">, files: SourceFile[]): string {
	const name = finding.file;
	if (!name) return "";
	const exact = files.find((one) => one.has_text && one.file === name);
	const found = exact ? [exact] : files.filter((one) => one.has_text && one.file.endsWith(`/${name}`));
	return found.length === 1 ? found[0].file : "";
}

function quoted(path: string): string {
	const safe = path.startsWith("-") ? `./${path}` : path;
	return /^[\w@%+=:,./-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", "'\\''")}'`;
}

/** A command of a finding with the file it is of in its place, for a shell. */
export function commandOf(command: string, path: string): string {
	return path ? command.split(" ").map((word) => (word === "FILE" ? quoted(path) : word)).join(" ") : command;
}
