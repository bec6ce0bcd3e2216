// SPDX-License-Identifier: MIT
// The frame: what was recorded, tabs, chips, the view, the lead line at its right, details below; keys for all.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { TorchOverview } from "./api/torch";
import { Books, Overview } from "./api/types";
import { amount, baseOf, count, percent, shortCommand } from "./model/format";
import { instead, landing } from "./model/landing";
import { Chips } from "./parts/chips";
import { Damage } from "./parts/damage";
import { Drawer } from "./parts/drawer";
import { Guard } from "./parts/guard";
import { Help } from "./parts/help";
import { LeadLine } from "./parts/leadline";
import { PhaseBar } from "./parts/phases";
import { Notice, Skeleton } from "./parts/states";
import { OverviewContext, Store, useAnswer, useOverview, usePlace, useStore } from "./store";
import { VIEWS } from "./views/registry";
import { TorchLine } from "./views/torch/line";

/** What of the program's time is told, in the words of a report. */
function accounts(books: Books): [string, string][] {
	const { cpu, wall } = books;
	const rows: [string, string][] = [
		["CPU time accounted for", cpu.kernel_s > 0 ? `${percent(1 - (cpu.not_seen_s + cpu.late_s) / cpu.kernel_s)} of ${amount(cpu.kernel_s, "s")}` : ""],
		["thread time accounted for", wall.threads_s > 0 ? `${percent(1 - wall.late_s / wall.threads_s)} of ${amount(wall.threads_s, "s")}` : ""],
		["threads not seen", books.threads_not_seen ? `${count(books.threads_not_seen)} (by ${books.evidence})` : ""],
		["threads beyond the limit", books.threads_beyond ? count(books.threads_beyond) : ""],
		["threads without Python", books.threads_without_python.map((t) => `${t.threads} × ${t.name} ${amount(t.cpu_s, "s")}`).slice(0, 5).join(", ")],
	];
	return rows.filter(([, value]) => value !== "");
}

function Fidelity() {
	const overview = useOverview();
	const facts = Object.entries(overview.report.fidelity ?? {}).filter(([, v]) => v !== null && v !== "" && typeof v !== "object");
	const samples = overview.report.fidelity?.samples;
	const lost = Number(overview.report.fidelity?.lost ?? 0);
	const books = overview.report.books;
	const label = overview.views.torch === "" && overview.views.table !== "" ? "PyTorch operators" : overview.is_exact
		? overview.format === "leadline" ? "counted" : `from ${overview.views.torch === "" ? "torch.profiler" : overview.format}`
		: typeof samples === "number" ? `${count(samples)} samples` : "sampled";
	return (
		<details class="fidelity">
			<summary class={typeof samples === "number" && (lost > 0.01 * samples || books?.is_balanced === false) ? "warn" : ""}>
				{label}
				{lost > 0 && typeof samples === "number" ? `, ${percent(lost / Math.max(1, samples + lost))} lost` : ""}
			</summary>
			<dl class="facts popup">
				{books && accounts(books).map(([name, value]) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>{value}</dd>
					</div>
				))}
				{facts.length === 0 && <dt>The file does not say how it was recorded</dt>}
				{facts.map(([name, value]) => (
					<div key={name}>
						<dt>{name.replaceAll("_", " ")}</dt>
						<dd>{typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(3)).toString() : String(value)}</dd>
					</div>
				))}
			</dl>
		</details>
	);
}

function nextTheme(): void {
	const root = document.documentElement;
	const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	root.dataset.theme = isDark ? "light" : "dark";
	try {
		localStorage.setItem("leadline-theme", root.dataset.theme);
	} catch {
		// A page from a file may have no storage; the theme then lasts as long as the page.
	}
}

function SearchBox() {
	const place = usePlace();
	const store = useStore();
	const [text, setText] = useState(place.q);
	const timer = useRef<ReturnType<typeof setTimeout>>();
	const sent = useRef(place.q);
	// What others have set (a link, reset) replaces what is typed; our own words come back as they were sent.
	if (place.q !== sent.current) {
		sent.current = place.q;
		setText(place.q);
	}
	const send = (q: string) => {
		sent.current = q;
		store.go({ q }, true);
	};
	const type = (q: string) => {
		setText(q);
		clearTimeout(timer.current);
		timer.current = setTimeout(() => send(q), 120);
	};
	return (
		<input
			id="search"
			type="search"
			placeholder="search  /"
			aria-label="search functions"
			aria-keyshortcuts="/"
			value={text}
			onInput={(e) => type(e.currentTarget.value)}
			onKeyDown={(e) => {
				if (e.key === "Enter" && place.view !== "flame" && place.view !== "torch") store.go({ view: "flame", q: e.currentTarget.value });
				if (e.key === "Escape") e.currentTarget.blur();
			}}
		/>
	);
}

function Head({ onHelp }: { onHelp: () => void }) {
	const overview = useOverview();
	const store = useStore();
	const place = usePlace();
	const [said, say] = useState("");
	const told = overview.report.command;
	const command = Array.isArray(told) ? told.join(" ") : told;
	const share = async () => {
		try {
			await navigator.clipboard.writeText(store.source.link?.(location.hash) ?? location.href);
			say("link copied");
		} catch {
			say(store.source.link ? "could not copy the link" : "copy the address above");
		}
	};
	return (
		<header class="head">
			<h1>
				<svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true"><path d="M8 0v9" class="cord" /><path d="M8 8l3.5 3L8 16l-3.5-5z" class="weight" /></svg>
				{overview.recordings.length > 1 ? (
					<select aria-label="recording" value={place.r} onChange={(e) => store.go({ r: Number(e.currentTarget.value), node: "0", f: undefined })}>
						{overview.recordings.map((one) => (
							<option key={one.r} value={one.r}>{one.name}</option>
						))}
					</select>
				) : (
					<span>{baseOf(overview.name)}</span>
				)}
			</h1>
			{command && <span class="command code" title={command}>{shortCommand(command)}</span>}
			{typeof overview.report.wall_s === "number" && <span class="num">{amount(overview.report.wall_s, "s")}</span>}
			{overview.verdict && <span class="verdict">{overview.verdict}</span>}
			{overview.recordings.length > 0 && <Fidelity />}
			<span class="grow" />
			{overview.recordings.length > 0 && <SearchBox />}
			<span class="buttons">
				<button type="button" onClick={share} title={`copy a link to this view${store.source.link ? "; anyone who has it can open this page while leadline view runs" : ""}. To save the page: leadline view FILE -o page.html`}>share</button>
				<button type="button" onClick={nextTheme} aria-label="switch between light and dark">◐</button>
				<button type="button" onClick={onHelp} aria-label="keyboard shortcuts" aria-keyshortcuts="?">?</button>
				<span role="status" class="soft">{said}</span>
			</span>
		</header>
	);
}

function Tabs({ names }: { names: string[] }) {
	const place = usePlace();
	const store = useStore();
	return (
		<nav class="tabs" aria-label="views">
			{VIEWS.filter((view) => names.includes(view.name)).map((view) => (
				<a
					key={view.name}
					href={`#/${view.name}`}
					aria-current={place.view === view.name ? "page" : undefined}
					onClick={(e) => {
						e.preventDefault();
						store.go({ view: view.name });
					}}
				>
					{view.title}
				</a>
			))}
		</nav>
	);
}

/** Keys that work everywhere but in fields. */
function useKeys(names: string[], help: (isOpen: boolean) => void): void {
	const store = useStore();
	// With the first picture, not after it: a key pressed at once must count.
	useLayoutEffect(() => {
		const onKey = (event: KeyboardEvent) => {
			const target = event.target as HTMLElement;
			if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
			const at = names.indexOf(store.place.view);
			if (event.key === "/") document.getElementById("search")?.focus();
			else if (event.key === "?") help(true);
			else if (event.key === "[") store.go({ view: names[(at + names.length - 1) % names.length] });
			else if (event.key === "]") store.go({ view: names[(at + 1) % names.length] });
			else if (event.key === "Escape" && !document.querySelector("dialog[open]")) store.go({ f: undefined, line: undefined, open: "", op: "", event: undefined }, true);
			else return;
			event.preventDefault();
		};
		addEventListener("keydown", onKey);
		return () => removeEventListener("keydown", onKey);
	}, [names.join()]);
}

/** A recording that holds several ranks opens where they stand side by side, unless the user has gone elsewhere meanwhile. */
async function landOnRanks(store: Store): Promise<void> {
	const { r } = store.place;
	try {
		const data = await store.get<TorchOverview>("torch", { r, what: "overview" });
		if ((data.overview.processes ?? 0) < 2) return;
		await store.get("ranks", {});
	} catch {
		return; // they are not of one job: their steps are shown
	}
	const { view, pane, op, phase } = store.place;
	if (store.place.r === r && view === "torch" && !pane && !op && !phase) store.go({ pane: "distributed" }, true);
}

function Page() {
	const place = usePlace();
	const store = useStore();
	const overview = useOverview();
	const [isHelp, help] = useState(false);
	const names = VIEWS.filter((view) => !view.missing(overview)).map((view) => view.name);
	useKeys(names, help);
	const view = VIEWS.find((one) => one.name === place.view);
	const missing = view ? view.missing(overview) : "";
	const Body = view?.body;
	const hasRecording = overview.recordings.length > 0;
	// Results of benchmarks and operators are no functions, and nothing of the selection is theirs.
	const isOfRecording = hasRecording && place.view !== "bench" && place.view !== "torch";
	const hasLanded = useRef(false);
	useEffect(() => {
		const isBare = !hasLanded.current && location.hash.length < 2;
		hasLanded.current = true;
		const to = isBare ? landing(overview) : instead(overview);
		if (place.view === "overview" && to.view) store.go(to, true);
		if (isBare && to.view === "torch" && !to.pane) void landOnRanks(store);
	}, [place.r]);
	return (
		<>
			<Head onHelp={() => help(true)} />
			<Tabs names={names} />
			<Damage />
			{isOfRecording && <Chips />}
			{hasRecording && place.view === "torch" && <PhaseBar />}
			<main class="main" id="main">
				<div class={`view view-${place.view}`}>
					{!Body ? <Notice title="No such view" text="Choose a tab above." /> : missing ? <Notice title={`${view.title}: not recorded`} text={missing} /> : <Guard name={place.view}><Body /></Guard>}
				</div>
				{isOfRecording && <Guard name={`${place.f}:${place.line}`}><LeadLine /></Guard>}
				{hasRecording && place.view === "torch" && !missing && <Guard name={`${place.pane}:${place.op}`}><TorchLine /></Guard>}
			</main>
			{isOfRecording && <Guard name={String(place.f)}><Drawer /></Guard>}
			{(store.source.dropped.length > 0 || (overview.note && place.view !== "torch")) && (
				<footer class="soft">
					{overview.note && place.view !== "torch" && <p>{overview.note}</p>}
					{store.source.dropped.length > 0 && <p>Omitted to keep this page small: {store.source.dropped.join("; ")}.</p>}
				</footer>
			)}
			{isHelp && <Help onClose={() => help(false)} />}
		</>
	);
}

/** What an overview lacks where nothing but results of benchmarks is open. */
const EMPTY = { note: "", verdict: "", verdict_why: "", states: [], counts: {}, functions: [], lines: [], report: {}, sampled: 0, length_s: 0 };

export function App() {
	const place = usePlace();
	const answer = useAnswer<Overview>("overview", { r: place.r });
	useEffect(() => {
		if (answer.data) document.title = `${answer.data.name} · leadline`;
	}, [answer.data]);
	if (answer.error) return <main class="alone"><Notice title="Cannot show this recording" text={answer.error.message} /></main>;
	if (!answer.data) return <main class="alone">{answer.isSlow && <Skeleton />}</main>;
	return (
		<OverviewContext.Provider value={{ ...EMPTY, ...answer.data }}>
			<Page />
		</OverviewContext.Provider>
	);
}
