// SPDX-License-Identifier: MIT
// A page of docs/advice: the little Markdown they are written in, as elements. Nothing of it becomes HTML by itself.
import { ComponentChildren } from "preact";

/** **bold** and `code`. */
export function wordsOf(text: string): ComponentChildren[] {
	return text.split(/(\*\*[^*]+\*\*|`[^`]+`)/).map((part, i) => (part.startsWith("**") && part.length > 4 ? <b key={i}>{part.slice(2, -2)}</b> : part.startsWith("`") && part.length > 2 ? <code key={i}>{part.slice(1, -1)}</code> : part));
}

export function Prose({ text }: { text: string }) {
	const blocks = text.trim().split(/\n\s*\n/);
	return (
		<div class="prose">
			{blocks.map((block, i) => {
				if (block.startsWith("```")) return <pre key={i}>{block.replace(/^```\w*\n?/, "").replace(/\n?```$/, "")}</pre>;
				if (block.startsWith("# ")) return <p key={i}><b>{block.slice(2)}</b></p>;
				const items = block.split(/\n(?=- )/);
				if (items.every((item) => item.startsWith("- "))) return <ul key={i}>{items.map((item, k) => <li key={k}>{wordsOf(item.slice(2))}</li>)}</ul>;
				return <p key={i}>{wordsOf(block)}</p>;
			})}
		</div>
	);
}
