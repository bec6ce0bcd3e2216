// SPDX-License-Identifier: MIT
// Steps a user takes from any view: select a function or line, focus on it, look at its source.
import { Store } from "../store";
import { patternOf } from "../model/place";

export function selectFunction(store: Store, f: number): void {
	store.go({ f, line: undefined }, true);
}

export function showSource(store: Store, f: number | undefined, file: string, line: number | undefined): void {
	store.go({ view: "source", f, file, line });
}

/** Adds a focus, drop or merge of that function. */
export function transform(store: Store, kind: "focus" | "drop" | "merge", f: number): void {
	const row = store.nameOf(f);
	if (!row) return;
	const pattern = patternOf(row[1], row[2], row[3]);
	const list = store.place[kind];
	if (!list.includes(pattern)) store.go({ [kind]: [...list, pattern], node: "0" });
}
