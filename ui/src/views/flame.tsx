// SPDX-License-Identifier: MIT
// One layout, three projections (icicle, flame graph, sunburst): from the top down by size or in time order, from
// the leaves up, or around one function. What snakeviz' users know is here: style, depth, cutoff, call stack, reset.
import { useEffect, useMemo } from "preact/hooks";
import { Boxes, Sandwich, Search, Tree } from "../api/types";
import { amount, count, percent, plural } from "../model/format";
import { Place, selectionOf } from "../model/place";
import { prune } from "../model/tree";
import { BoxPicture } from "../parts/boxes";
import { showSource, transform } from "../parts/select";
import { Notice, Wait } from "../parts/states";
import { useAnswer, useOverview, usePlace, useSize, useStore } from "../store";

const CUTOFFS: Record<string, number> = { none: 0, "1/1000": 1e-3, "1/100": 1e-2 };
const DEPTHS = ["3", "5", "10", "15", "20", "all"];
const STYLES = ["icicle", "flame", "sunburst"];
const DIRECTIONS: [string, string][] = [
	["left-heavy", "left heavy"],
	["time", "time order"],
	["inverted", "inverted"],
	["sandwich", "sandwich"],
];

function Choice(props: { label: string; value: string; options: [string, string][]; onChange: (value: string) => void }) {
	return (
		<label class="choice">
			<span>{props.label}</span>
			<select value={props.value} onChange={(e) => props.onChange(e.currentTarget.value)}>
				{props.options.map(([value, text]) => (
					<option key={value} value={value}>
						{text}
					</option>
				))}
			</select>
		</label>
	);
}

function Tools({ place }: { place: Place }) {
	const store = useStore();
	const overview = useOverview();
	const directions = DIRECTIONS.filter(([value]) => value !== "time" || !overview.views.time_order);
	const same = (names: string[]): [string, string][] => names.map((n) => [n, n]);
	return (
		<div class="bar-of-tools">
			<Choice label="order" value={place.direction} options={directions} onChange={(direction) => store.go({ direction, node: "0" })} />
			<Choice label="style" value={place.style} options={same(STYLES)} onChange={(style) => store.go({ style })} />
			<Choice label="depth" value={place.depth} options={same(DEPTHS)} onChange={(depth) => store.go({ depth }, true)} />
			<Choice label="cutoff" value={place.cutoff} options={same(Object.keys(CUTOFFS))} onChange={(cutoff) => store.go({ cutoff }, true)} />
			{!store.source.isEmbedded && (
				<button type="button" aria-pressed={place.collapse} onClick={() => store.go({ collapse: !place.collapse, node: "0" })}>
					fold recursion
				</button>
			)}
			<button
				type="button"
				onClick={() => store.go({ node: "0", depth: "all", cutoff: "none", focus: [], drop: [], merge: [], collapse: false, q: "" })}
			>
				reset
			</button>
			<ul class="legend" aria-label="colours">
				<li><span class="key own" aria-hidden="true" />your code</li>
				<li><span class="key library" aria-hidden="true" />library</li>
				<li><span class="key c" aria-hidden="true" />C function</li>
			</ul>
		</div>
	);
}

/** From the root to what is shown: the call stack. */
function Breadcrumb({ tree, rootName }: { tree: Tree; rootName: string }) {
	const store = useStore();
	if (tree.path.length <= 1) return null;
	return (
		<nav class="crumbs" aria-label="call stack">
			{tree.path.map(([node, f], i) => (
				<span key={node}>
					{i > 0 && <span aria-hidden="true"> ▸ </span>}
					<button type="button" class="link" aria-current={i === tree.path.length - 1 ? "location" : undefined} onClick={() => store.go({ node: String(node), f: f >= 0 ? f : undefined })}>
						{f < 0 ? rootName : (store.nameOf(f)?.[1] ?? `function ${f}`)}
					</button>
				</span>
			))}
		</nav>
	);
}

function SearchTotals({ search }: { search: Search | undefined }) {
	const place = usePlace();
	const overview = useOverview();
	if (!place.q || !search) return null;
	return (
		<p class="found" role="status">
			<b>{plural(search.n, "function")}</b> {search.n === 1 ? "matches" : "match"} “{place.q}”: {percent(search.total > 0 ? search.value / search.total : 0)} of the {overview.unit === "bytes" ? "memory" : "time"} passes
			through {search.n === 1 ? "it" : "them"}
		</p>
	);
}

/** The root has no box of its own in the answer; here it gets one. */
export function withRoot(tree: Tree): Boxes {
	const { boxes } = tree;
	if (boxes.d.length && boxes.d[0] === 0) return boxes;
	return {
		id: [0, ...boxes.id], f: [-1, ...boxes.f], d: [0, ...boxes.d], x: [tree.x, ...boxes.x], w: [tree.value, ...boxes.w],
		s: [0, ...boxes.s], n: [null, ...boxes.n], c: [null, ...boxes.c], h: [0, ...boxes.h],
	};
}

function useHits(place: Place): Search | undefined {
	const params = { ...selectionOf(place), q: place.q, limit: 50 };
	return useAnswer<Search>(place.q ? "search" : null, params).data;
}

function TreePicture({ tree, place, search }: { tree: Tree; place: Place; search: Search | undefined }) {
	const store = useStore();
	const overview = useOverview();
	const boxes = useMemo(() => {
		const depth = place.depth === "all" ? Infinity : Number(place.depth) || Infinity;
		return prune(withRoot(tree), tree.total * (CUTOFFS[place.cutoff] ?? 0), depth);
	}, [tree, place.depth, place.cutoff]);
	const hits = useMemo(() => (place.q && search ? new Set(search.ids) : null), [search, place.q]);
	if (!tree.boxes.id.length) return <Notice title="Nothing matches the selection" text="Remove a chip above to see more." />;
	const zoom = (i: number) => {
		if (i >= 0) return store.go({ node: String(boxes.id[i]), f: boxes.f[i] >= 0 ? boxes.f[i] : place.f });
		const path = tree.path;
		if (path.length > 1) store.go({ node: String(path[path.length - 2][0]) });
	};
	const letter = (key: string, i: number) => {
		const f = boxes.f[i];
		const row = store.nameOf(f);
		if (f < 0 || !row) return;
		if (key === "s") showSource(store, f, row[2], row[3]);
		else transform(store, key === "f" ? "focus" : key === "x" ? "drop" : "merge", f);
	};
	return (
		<>
			<BoxPicture
				boxes={boxes}
				x0={tree.x}
				value={tree.value}
				total={tree.total}
				unit={tree.unit}
				isExact={overview.is_exact}
				style={place.style}
				rootName={tree.thread ? `thread ${tree.thread}` : "everything"}
				label={`${place.style} of ${tree.n_nodes === null ? "" : `${count(tree.n_nodes)} `}call paths`}
				hits={hits}
				f={place.f}
				onSelect={(i) => boxes.f[i] >= 0 && store.go({ f: boxes.f[i], line: undefined }, true)}
				onZoom={zoom}
				onLetter={letter}
			/>
			<p class="foot soft">
				{amount(tree.value, tree.unit)} of {amount(tree.total, tree.unit)}
				{tree.n_nodes !== null && `; ${plural(tree.n_nodes, "call path")}`}
				{tree.left_out.boxes > 0 && `, ${count(tree.left_out.boxes)} too small to draw (${percent(tree.left_out.value / tree.total)})`}
				{tree.note && `; ${tree.note}`}
			</p>
		</>
	);
}

function SandwichPicture({ data }: { data: Sandwich }) {
	const store = useStore();
	const overview = useOverview();
	const name = store.nameOf(data.function_id)?.[1] ?? "";
	const half = (boxes: Boxes, style: string, label: string) => (
		<BoxPicture
			boxes={boxes}
			x0={boxes.x[0] ?? 0}
			value={data.value}
			total={data.total}
			unit={data.unit}
			isExact={overview.is_exact}
			style={style}
			rootName={name}
			label={label}
			hits={null}
			f={undefined}
			onSelect={() => undefined}
			onZoom={(i) => i >= 0 && store.go({ f: boxes.f[i] })}
		/>
	);
	return (
		<div class="sandwich">
			<h2>
				<span class="code">{name}</span> <span class="soft">{amount(data.value, data.unit)} ({percent(data.value / data.total)}), itself {amount(data.self, data.unit)}</span>
			</h2>
			{half(data.callers, "flame", `callers of ${name}`)}
			{half(data.callees, "icicle", `callees of ${name}`)}
			<p class="foot soft">Callers above, callees below. Click a box to move there.</p>
		</div>
	);
}

export function FlameView() {
	const place = usePlace();
	const store = useStore();
	const [holder, size] = useSize<HTMLDivElement>();
	const width = Math.max(200, Math.ceil(size.width / 200) * 200);
	const isSandwich = place.direction === "sandwich";
	const ready = size.width > 0;
	const params = selectionOf(place);
	const asked = { ...params, direction: place.direction, node: place.node === "0" ? undefined : place.node, width };
	const tree = useAnswer<Tree>(ready && !isSandwich ? "tree" : null, asked);
	// The address names the path, not the number, which holds for one selection only.
	const key = tree.isOld ? undefined : tree.data?.key;
	useEffect(() => {
		if (!key || place.node === "0" || key === place.node) return;
		store.seed("tree", { ...asked, node: key }, tree.data);
		store.go({ node: key }, true);
	}, [key]);
	const sandwich = useAnswer<Sandwich>(ready && isSandwich && place.f !== undefined ? "sandwich" : null, { ...params, function: place.f, width });
	const search = useHits(place);
	return (
		<div class="flameview" ref={holder}>
			<Tools place={place} />
			<SearchTotals search={search} />
			{isSandwich && place.f === undefined && <Notice title="Select a function" text="Select one in any view, or search for it. A sandwich shows its callers above and its callees below." />}
			{isSandwich && place.f !== undefined && <Wait answer={sandwich}>{(data) => <SandwichPicture data={data} />}</Wait>}
			{!isSandwich && (
				<Wait answer={tree}>
					{(data) => (
						<>
							<Breadcrumb tree={data} rootName={data.thread ? `thread ${data.thread}` : "everything"} />
							<TreePicture tree={data} place={place} search={search} />
						</>
					)}
				</Wait>
			)}
			{tree.error?.status === 404 && (
				<button type="button" onClick={() => store.go({ node: "0" })}>
					show everything
				</button>
			)}
		</div>
	);
}
