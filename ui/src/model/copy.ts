// SPDX-License-Identifier: MIT
// Tables as text for other places: Markdown and CSV.

export interface Column {
	title: string;
	isNumber: boolean;
}

export function markdown(columns: Column[], rows: string[][]): string {
	const cell = (text: string) => text.replace(/\\/g, "\\\\").replace(/\|/g, "\\|").replace(/[\r\n]+/g, " ");
	const line = (cells: string[]) => `| ${cells.map(cell).join(" | ")} |`;
	const rule = `|${columns.map((c) => (c.isNumber ? "---:" : "---")).join("|")}|`;
	return [line(columns.map((c) => c.title)), rule, ...rows.map(line)].join("\n") + "\n";
}

export function csv(columns: Column[], rows: string[][]): string {
	// A cell that begins like a formula would be run by a spreadsheet.
	const safe = (text: string) => (/^[=+@\t\r]|^-(?![\d.])/.test(text) ? `'${text}` : text);
	const cell = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
	const line = (cells: string[]) => cells.map((text) => cell(safe(text))).join(",");
	return [line(columns.map((c) => c.title)), ...rows.map(line)].join("\r\n") + "\r\n";
}
