// SPDX-License-Identifier: MIT
// What opens a line in the user's editor, where one was named.
import { ComponentChildren } from "preact";
import { editorLink } from "../model/editor";
import { useOverview } from "../store";

/** `children` as a link where there is an editor, else as they are. */
export function EditorLink({ file, line, label, children }: { file: string | null; line: number | null; label?: string; children: ComponentChildren }) {
	const link = editorLink(useOverview().editor, file, line);
	return link ? <a class="editor" href={link} title="open in the editor" aria-label={label}>{children}</a> : <>{children}</>;
}
