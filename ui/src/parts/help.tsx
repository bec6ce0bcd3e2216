// SPDX-License-Identifier: MIT
// The list of keys.
import { useEffect, useRef, useState } from "preact/hooks";
import { useStore } from "../store";

const KEYS: [string, string][] = [
	["/", "search"],
	["[  ]", "the tab before, the next"],
	["Esc", "out of what is selected; in a picture: one level out"],
	["← ↑ ↓ →", "walk through a picture, a table, the lead line"],
	["Enter", "zoom into a box; open a row's source"],
	["f  x  m  s", "on a box: focus on it, drop it, merge it into its caller, show its source"],
	["+  −  a  d  0", "timeline: zoom, move, show all"],
	["?", "this list"],
];

export function Help({ onClose }: { onClose: () => void }) {
	const dialog = useRef<HTMLDialogElement>(null);
	const { source } = useStore();
	const [hasEnded, end] = useState(false);
	useEffect(() => dialog.current?.showModal(), []);
	return (
		<dialog ref={dialog} aria-labelledby="keys" onClose={onClose} onClick={(e) => e.target === e.currentTarget && dialog.current?.close()}>
			<h2 id="keys">Keys</h2>
			<dl class="keys">
				{KEYS.map(([key, text]) => (
					<div key={key}>
						<dt><kbd>{key}</kbd></dt>
						<dd>{text}</dd>
					</div>
				))}
			</dl>
			<p class="dialog-foot">
				<button type="button" onClick={() => dialog.current?.close()}>close</button>
				{source.quit && !hasEnded && (
					<button type="button" onClick={() => source.quit?.().then(() => end(true), () => end(true))}>
						end leadline view
					</button>
				)}
				<span role="status">{hasEnded ? "It has ended; this page can be closed." : ""}</span>
			</p>
		</dialog>
	);
}
