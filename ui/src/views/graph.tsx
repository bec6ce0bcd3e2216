// SPDX-License-Identifier: MIT
// The call graph as the server lays it out: width of an edge is its time, heat of a node its own share.
import { useState } from "preact/hooks";
import { Graph } from "../api/types";
import { heat } from "../model/colour";
import { amount, percent, plural, shortName } from "../model/format";
import { selectionOf } from "../model/place";
import { selectFunction, showSource } from "../parts/select";
import { Notice, Wait } from "../parts/states";
import { useAnswer, useDark, usePlace, useStore } from "../store";

const LETTER = 7;
/** A small graph is not blown up to fill the screen. */
const LARGEST = 1.25;

function fit(text: string, width: number): string {
	const n = Math.floor((width - 10) / LETTER);
	return text.length <= n ? text : `${text.slice(0, Math.max(1, n - 1))}…`;
}

/** Points as a path; two or more pairs. */
export function pathOf(points: number[]): string {
	let path = `M${points[0]} ${points[1]}`;
	if (points.length === 8) return `${path}C${points.slice(2).join(" ")}`;
	for (let i = 2; i + 1 < points.length; i += 2) path += `L${points[i]} ${points[i + 1]}`;
	return path;
}

function Picture({ graph }: { graph: Graph }) {
	const place = usePlace();
	const store = useStore();
	const isDark = useDark();
	const [zoom, setZoom] = useState(1);
	const name = (i: number) => shortName(store.nameOf(graph.nodes[i].f), graph.nodes[i].f);
	const share = (value: number) => (graph.total > 0 ? value / graph.total : 0);
	const step = (factor: number) => setZoom(Math.min(6, Math.max(0.2, zoom * factor)));
	return (
		<>
			<div class="bar-of-tools">
				<button type="button" onClick={() => step(1.25)} aria-label="larger">+</button>
				<button type="button" onClick={() => step(0.8)} aria-label="smaller">−</button>
				<button type="button" onClick={() => setZoom(1)}>fit</button>
				<span class="soft">{plural(graph.nodes.length, "function")}{graph.left_out ? `, ${plural(graph.left_out, "smaller one")} left out` : ""}; arrow width: time; colour: share of self time</span>
			</div>
			<div class="scroll graph" tabIndex={0} role="region" aria-label="call graph" onKeyDown={(e) => (e.key === "+" ? step(1.25) : e.key === "-" ? step(0.8) : undefined)}>
				<svg
					viewBox={`0 0 ${graph.width} ${graph.height}`}
					style={zoom === 1
						? { width: "100%", height: "100%", maxWidth: `${graph.width * LARGEST}px`, maxHeight: `${graph.height * LARGEST}px` }
						: { width: `${graph.width * zoom}px`, height: `${graph.height * zoom}px` }}
					role="group"
					aria-label="functions and who calls whom"
				>
					<defs>
						<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">
							<path d="M0 0L8 4L0 8z" class="arrow" />
						</marker>
					</defs>
					{graph.edges.map((edge, i) =>
						edge.points && edge.points.length >= 4 ? (
							<path key={i} class="edge" d={pathOf(edge.points)} stroke-width={Math.max(0.8, share(edge.value) * 10)} marker-end="url(#arrow)">
								<title>{`${name(edge.from)} calls ${name(edge.to)}: ${amount(edge.value, graph.unit)} (${percent(share(edge.value))})`}</title>
							</path>
						) : null,
					)}
					{graph.nodes.map((node, i) => {
						const { fill, ink } = heat(share(node.self), isDark);
						const recurs = graph.edges.some((e) => e.from === i && e.to === i);
						return (
							<g
								key={node.f}
								role="button"
								tabIndex={0}
								class={`node ${place.f === node.f ? "chosen" : ""}`}
								aria-label={`${name(i)}: ${percent(share(node.total))}, self ${percent(share(node.self))}`}
								onClick={() => selectFunction(store, node.f)}
								onDblClick={() => showSource(store, node.f, store.nameOf(node.f)?.[2] ?? "", undefined)}
								onKeyDown={(e) => e.key === "Enter" && selectFunction(store, node.f)}
							>
								<rect x={node.x} y={node.y} width={node.w} height={node.h} rx="5" fill={fill} />
								<text x={node.x + node.w / 2} y={node.y + node.h / 2 - 4} fill={ink}>{fit(name(i), node.w)}{recurs ? " ↻" : ""}</text>
								<text x={node.x + node.w / 2} y={node.y + node.h / 2 + 12} fill={ink}>{`${percent(share(node.total))} (${percent(share(node.self))})`}</text>
							</g>
						);
					})}
				</svg>
			</div>
			<details class="twin">
				<summary>as a table</summary>
				<div class="scroll" tabIndex={0} role="region" aria-label="calls">
					<table class="grid">
						<thead><tr><th class="num">time</th><th class="num">share</th><th>caller</th><th>callee</th></tr></thead>
						<tbody>
							{graph.edges.map((edge, i) => (
								<tr key={i}><td class="num">{amount(edge.value, graph.unit)}</td><td class="num">{percent(share(edge.value))}</td><td class="code">{name(edge.from)}</td><td class="code">{name(edge.to)}</td></tr>
							))}
						</tbody>
					</table>
				</div>
			</details>
		</>
	);
}

export function GraphView() {
	const place = usePlace();
	const store = useStore();
	const [nodes, setNodes] = useState(40);
	const isEmbedded = store.source.isEmbedded;
	const answer = useAnswer<Graph>("graph", { ...selectionOf(place), ...(isEmbedded ? {} : { nodes }) });
	return (
		<div class="graphview">
			{!isEmbedded && (
				<div class="bar-of-tools">
					<label class="choice">
						<span>functions</span>
						<select value={nodes} onChange={(e) => setNodes(Number(e.currentTarget.value))}>
							{[15, 40, 80, 150].map((n) => <option key={n} value={n}>{n}</option>)}
						</select>
					</label>
				</div>
			)}
			<Wait answer={answer}>
				{(graph) => (graph.nodes.length ? <Picture graph={graph} /> : <Notice title="Nothing matches the selection" text="Remove a chip above to see more." />)}
			</Wait>
		</div>
	);
}
