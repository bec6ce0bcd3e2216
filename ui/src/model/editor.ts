// SPDX-License-Identifier: MIT
// The address of a line in the user's editor.

/** `template` has {file} and {line} in it. "": no link, for there is no template, or no file of that name to open. */
export function editorLink(template: string | undefined, file: string | null, line: number | null): string {
	if (!template || !file?.startsWith("/") || /^(javascript|data|vbscript):/i.test(template)) return "";
	const escaped = file.split("/").map(encodeURIComponent).join("/");
	return template.replaceAll("{file}", escaped).replaceAll("{line}", String(line || 1));
}
