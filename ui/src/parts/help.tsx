// SPDX-License-Identifier: MIT
// The list of keys.
import { useEffect, useRef, useState } from "preact/hooks";
import { useStore } from "../store";

const KEYS: [string, string][] = [
	["/", "search"],
	["[  ]", "previous tab, next tab"],
	["Esc", "clear the selection; in a chart, zoom out one level"],
	["← ↑ ↓ →", "move through a chart, a table or the lead line"],
	["Enter", "zoom into a box; open the source of a row"],
	["f  x  m  s", "on a box: focus, drop, merge into the caller, show the source"],
	["+  −  a  d  0", "timeline: zoom in, zoom out, left, right, show everything"],
	["?", "show this list"],
];

export function Help({ onClose }: { onClose: () => void }) {
	const dialog = useRef<HTMLDialogElement>(null);
	const { source } = useStore();
	const [hasEnded, end] = useState(false);
	useEffect(() => dialog.current?.showModal(), []);
	return (
		<dialog ref={dialog} aria-labelledby="keys" onClose={onClose} onClick={(e) => e.target === e.currentTarget && dialog.current?.close()}>
			<h2 id="keys">Keyboard shortcuts</h2>
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
						stop leadline view
					</button>
				)}
				<span role="status">{hasEnded ? "Stopped. You can close this page." : ""}</span>
			</p>
		</dialog>
	);
}
