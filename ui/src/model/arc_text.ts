// SPDX-License-Identifier: MIT
// Words along a circle: where each letter stands. Angles go clockwise from the top. Pure.

export interface Letter {
	letter: string;
	/** Of its middle. */
	angle: number;
}

/** As much of a text as has room, with a mark where it is cut; "": less than three letters would be left. */
export function fitted(text: string, room: number, widthOf: (letter: string) => number): string {
	let used = 0;
	const letters = [...text];
	const rest = widthOf("…");
	let fits = 0;
	for (const [i, letter] of letters.entries()) {
		used += widthOf(letter);
		if (used + rest <= room) fits = i + 1;
		if (used > room) return fits < 3 ? "" : `${letters.slice(0, fits).join("")}…`;
	}
	return text;
}

/** The letters of a text around the middle of an arc; in the lower half from left to right means against the clock. */
export function lettersOn(text: string, middle: number, radius: number, isBelow: boolean, widthOf: (letter: string) => number): Letter[] {
	const letters = [...text];
	const widths = letters.map(widthOf);
	const length = widths.reduce((sum, width) => sum + width, 0);
	const way = isBelow ? -1 : 1;
	let at = -length / 2;
	return letters.map((letter, i) => {
		const angle = middle + (way * (at + widths[i] / 2)) / radius;
		at += widths[i];
		return { letter, angle };
	});
}
