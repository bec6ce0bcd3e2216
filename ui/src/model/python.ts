// SPDX-License-Identifier: MIT
// A line of Python in coloured pieces: words, strings, comments, numbers. For looking at, not for running: what it
// gets wrong is only the wrong colour. Strings over several lines are carried from line to line.

export interface Piece {
	text: string;
	/** "" plain, "kw", "str", "com", "num" */
	kind: string;
}

const KEYWORDS = new Set(
	("False None True and as assert async await break case class continue def del elif else except finally for from global if import in is " +
		"lambda match nonlocal not or pass raise return try while with yield").split(" "),
);
const TOKEN = /(#.*)|([rbfuRBFU]{0,2}("""|'''))|([rbfuRBFU]{0,2}(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?))|(\b\d[\w.]*)|([A-Za-z_]\w*)|([^\w#"']+|.)/gsu;

/** `open`: the quotes of a string that began on a line before, or "". */
export function piecesOf(line: string, open: string): { pieces: Piece[]; open: string } {
	const pieces: Piece[] = [];
	let rest = line;
	if (open) {
		const end = rest.indexOf(open);
		if (end < 0) return { pieces: [{ text: rest, kind: "str" }], open };
		pieces.push({ text: rest.slice(0, end + 3), kind: "str" });
		rest = rest.slice(end + 3);
	}
	TOKEN.lastIndex = 0;
	for (let match = TOKEN.exec(rest); match; match = TOKEN.exec(rest)) {
		const [text, comment, long, quotes, string, number, word] = match;
		if (long) {
			const end = rest.indexOf(quotes, TOKEN.lastIndex);
			if (end < 0) {
				pieces.push({ text: rest.slice(match.index), kind: "str" });
				return { pieces, open: quotes };
			}
			pieces.push({ text: rest.slice(match.index, end + 3), kind: "str" });
			TOKEN.lastIndex = end + 3;
			continue;
		}
		const kind = comment ? "com" : string ? "str" : number ? "num" : word && KEYWORDS.has(word) ? "kw" : "";
		pieces.push({ text, kind });
	}
	return { pieces, open: "" };
}

/** Places in UTF-8 bytes as places in the text. */
export function placeOfByte(line: string, byte: number): number {
	let bytes = 0;
	for (let i = 0; i < line.length; ) {
		if (bytes >= byte) return i;
		const code = line.codePointAt(i) as number;
		bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
		i += code > 0xffff ? 2 : 1;
	}
	return line.length;
}

/** The pieces cut at two places, those between marked. */
export function marked(pieces: Piece[], from: number, to: number): (Piece & { isHot: boolean })[] {
	const result: (Piece & { isHot: boolean })[] = [];
	let at = 0;
	for (const piece of pieces) {
		const cuts = [0, from - at, to - at, piece.text.length].map((c) => Math.min(piece.text.length, Math.max(0, c)));
		for (let k = 0; k < 3; k++)
			if (cuts[k + 1] > cuts[k]) result.push({ text: piece.text.slice(cuts[k], cuts[k + 1]), kind: piece.kind, isHot: k === 1 });
		at += piece.text.length;
	}
	return result;
}
