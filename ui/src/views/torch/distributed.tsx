// SPDX-License-Identifier: MIT
// The ranks of a job side by side: what their time went to, how long they waited for each other, and for whom.
import { Distributed, Row } from "../../api/torch";
import { amount, baseOf, count, percent } from "../../model/format";
import { Field } from "../../model/torch";
import { Notice, Wait } from "../../parts/states";
import { useAnswer } from "../../store";
import { TorchTable } from "./parts";

/** Kinds of moments, in the order of the bar; colours as those of steps. */
const MOMENTS: [key: "computation_s" | "overlap_s" | "communication_s" | "other_s", part: string, name: string][] = [
	["computation_s", "kernel", "computes"],
	["overlap_s", "dataloader", "both"],
	["communication_s", "communication", "communicates"],
	["other_s", "other", "neither"],
];

const RANKS: Field[] = [
	{ key: "name", title: "rank", kind: "text" },
	{ key: "duration_s", title: "time", kind: "s", hint: "of its steps" },
	{ key: "steps", title: "steps", kind: "count" },
	...MOMENTS.map(([key, , title]): Field => ({ key, title, kind: "s" })),
	{ key: "transfer_s", title: "transfers", kind: "s", hint: "for each collective, the shortest time any rank took" },
	{ key: "waiting_s", title: "waits", kind: "s", hint: "time beyond the transfer, spent waiting for later ranks" },
	{ key: "collectives", title: "collectives", kind: "count" },
	{ key: "times_last", title: "last", kind: "count", hint: "how often the others waited for this rank" },
	{ key: "others_waited_s", title: "others wait", kind: "s", hint: "total time all other ranks waited for this one" },
	{ key: "file", title: "file", kind: "text" },
];

const COLLECTIVES: Field[] = [
	{ key: "name", title: "collective", kind: "text" },
	{ key: "total_s", title: "time", kind: "s", hint: "of all ranks" },
	{ key: "calls", title: "calls", kind: "count" },
	{ key: "matched", title: "in all ranks", kind: "count", hint: "collectives that were found in every rank" },
	{ key: "transfer_s", title: "transfers", kind: "s" },
	{ key: "waiting_s", title: "waits", kind: "s" },
	{ key: "bytes", title: "bytes", kind: "bytes", isOptional: true, hint: "input bytes, all ranks and calls" },
	{ key: "ranks", title: "ranks", kind: "count" },
	{ key: "group", title: "group", kind: "text" },
];

export function straggling(data: Distributed): string {
	const rank = data.ranks.find((one) => one.rank === data.straggler);
	if (!rank) return "No rank holds up the others.";
	return `Rank ${rank.rank} holds up the others: it was last in ${count(rank.times_last)} of ${count(rank.collectives)} collectives, and they waited ${amount(rank.others_waited_s, "s")} in total.`;
}

function RankBars({ data }: { data: Distributed }) {
	const longest = Math.max(...data.ranks.map((rank) => rank.duration_s), 1e-12);
	return (
		<figure class="states">
			<ul class="rankbars" aria-hidden="true">
				{data.ranks.map((rank) => (
					<li key={rank.rank}>
						<span class="num">rank {rank.rank}</span>
						<span class="stack" style={{ width: `${((rank.duration_s / longest) * 100).toFixed(2)}%` }}>
							{MOMENTS.map(([key, part]) => rank[key] > 0 && <span key={key} class={`part ${part}`} style={{ width: `${((rank[key] / rank.duration_s) * 100).toFixed(2)}%` }}>{rank[key] / rank.duration_s > 0.08 ? percent(rank[key] / rank.duration_s) : ""}</span>)}
						</span>
					</li>
				))}
			</ul>
			<figcaption><ul class="legend">{MOMENTS.map(([key, part, name]) => <li key={key}><span class={`key part ${part}`} aria-hidden="true" />{name}</li>)}</ul></figcaption>
		</figure>
	);
}

export function DistributedPane() {
	const answer = useAnswer<{ distributed: Distributed }>("ranks", {});
	const table = { isSelected: () => false, onSelect: () => undefined };
	return (
		<div class="tableview streamspane">
			<Wait answer={answer}>
				{({ distributed: data }) => (
					<>
						<p class="answer">{straggling(data)}</p>
						{data.notes.length > 0 && <Notice title="The ranks do not match" text={data.notes.join("; ")} />}
						<RankBars data={data} />
						<section><h2>Ranks {data.backend && <span class="soft">({data.backend})</span>}</h2>
							<TorchTable {...table} fields={RANKS} rows={data.ranks.map((row): Row => ({ ...row, name: `rank ${row.rank}`, file: baseOf(row.file) }))} caption="ranks" order="" keyOf={(row) => String(row.rank)} />
						</section>
						<section><h2>Collectives</h2>
							<TorchTable {...table} fields={COLLECTIVES} rows={data.collectives} caption="collectives" order="total_s" keyOf={(row) => `${row.name} ${row.group}`} />
						</section>
						<p class="foot soft">In a collective, a rank waits until the last rank arrives; then the transfer runs. Clocks of different ranks are never compared.</p>
					</>
				)}
			</Wait>
		</div>
	);
}
