// SPDX-License-Identifier: MIT
// Lines by their time, and which of them is worth a look. Pure.
import { LineCost } from "../api/types";

/** Lines with time of their own, most first: lines counted one by one come in the order of the file. */
export function hottest(rows: LineCost[]): LineCost[] {
	return rows.filter((row) => row.self > 0).sort((a, b) => b.self - a.self);
}

/** The line to look at first: nothing is gained where a program waits for work, and a library's line is nobody's to change. */
export function lineToLookAt(rows: LineCost[]): LineCost | undefined {
	const lines = hottest(rows).filter((row) => !row.is_wait && !row.file.startsWith("<frozen importlib"));
	return lines.find((row) => !row.is_library) ?? lines[0];
}
