// SPDX-License-Identifier: MIT
// What the views share: the place, the answers, and hooks to both. Answers are kept for a while; while a new one
// is on its way the old one stays.
import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { DataSource, Params, queryOf, Refusal } from "./api/source";
import { FunctionRow, Overview } from "./api/types";
import { formatPlace, parsePlace, Place } from "./model/place";

const KEPT = 80;
/** No sign of waiting before: it would only flicker. */
const PATIENCE_MS = 200;

export class Store {
	place: Place;
	private answers = new Map<string, Promise<unknown>>();
	private listeners = new Set<() => void>();
	/** Names of functions any answer has mentioned, by recording and number. */
	private names: Map<number, FunctionRow>[] = [];

	constructor(public source: DataSource) {
		this.place = parsePlace(location.hash);
		addEventListener("hashchange", () => {
			this.place = parsePlace(location.hash);
			this.tell();
		});
	}

	/** A step of its own in the history unless `isSmall`. */
	go(change: Partial<Place>, isSmall = false): void {
		this.place = { ...this.place, ...change };
		const hash = formatPlace(this.place);
		try {
			if (hash !== location.hash) history[isSmall ? "replaceState" : "pushState"](null, "", hash);
		} catch {
			// Inside another document (a notebook) the page has no address of its own.
		}
		this.tell();
	}

	listen(listener: () => void): () => void {
		this.listeners.add(listener);
		return () => this.listeners.delete(listener);
	}

	private tell(): void {
		for (const listener of this.listeners) listener();
	}

	get<T>(name: string, params: Params): Promise<T> {
		const key = `${name}?${queryOf(params)}`;
		const known = this.answers.get(key);
		if (known) {
			this.answers.delete(key);
			this.answers.set(key, known);
			return known as Promise<T>;
		}
		const answer = this.source.get<T>(name, params);
		this.answers.set(key, answer);
		answer.then(
			(data) => this.learn(Number(params.r ?? 0), data),
			() => this.answers.delete(key),
		);
		if (this.answers.size > KEPT) this.answers.delete(this.answers.keys().next().value as string);
		return answer;
	}

	/** The same answer serves another way to ask. */
	seed(name: string, params: Params, data: unknown): void {
		this.answers.set(`${name}?${queryOf(params)}`, Promise.resolve(data));
	}

	private learn(r: number, data: unknown): void {
		const names = (this.names[r] ??= new Map());
		const rows = (data as { functions?: unknown[] }).functions;
		for (const row of Array.isArray(rows) ? rows : [])
			if (Array.isArray(row)) names.set(row[0], row as FunctionRow);
			else this.learnRow(names, row as { function_id: number; name: string; file: string; line: number; kind: number });
		for (const row of (data as { rows?: unknown[] }).rows ?? []) this.learnRow(names, row as never);
	}

	private learnRow(names: Map<number, FunctionRow>, row: { function_id?: number | null; name?: string; file: string; line: number; kind?: number }): void {
		if (row.function_id != null && row.name && row.kind !== undefined) names.set(row.function_id, [row.function_id, row.name, row.file, row.line, row.kind]);
	}

	nameOf(f: number): FunctionRow | undefined {
		return this.names[this.place.r]?.get(f);
	}
}

export const StoreContext = createContext<Store>(null as unknown as Store);
export const OverviewContext = createContext<Overview>(null as unknown as Overview);

export function useStore(): Store {
	return useContext(StoreContext);
}

export function useOverview(): Overview {
	return useContext(OverviewContext);
}

export function usePlace(): Place {
	const store = useStore();
	const [, draw] = useState(0);
	useEffect(() => store.listen(() => draw((n) => n + 1)), [store]);
	return store.place;
}

export interface Answer<T> {
	data?: T;
	error?: Refusal;
	/** Nothing came for a while: say so. */
	isSlow: boolean;
	/** `data` is of an earlier question. */
	isOld: boolean;
}

/** The answer to a question; name null: none is asked. */
export function useAnswer<T>(name: string | null, params: Params): Answer<T> {
	const store = useStore();
	const key = name === null ? "" : `${name}?${queryOf(params)}`;
	const [state, set] = useState<Answer<T> & { key: string }>({ key: "", isSlow: false, isOld: false });
	const latest = useRef("");
	// Not after the next picture, as other effects: the answer comes a frame earlier.
	useLayoutEffect(() => {
		latest.current = key;
		if (name === null) return;
		const slow = setTimeout(() => set((old) => ({ ...old, isSlow: true })), PATIENCE_MS);
		store.get<T>(name, params).then(
			(data) => latest.current === key && set({ key, data, isSlow: false, isOld: false }),
			(error) => latest.current === key && set({ key, error: error as Refusal, isSlow: false, isOld: false }),
		).finally(() => clearTimeout(slow));
		return () => clearTimeout(slow);
	}, [key, store]);
	if (name === null) return { isSlow: false, isOld: false };
	return state.key === key ? state : { data: state.data, isSlow: state.isSlow, isOld: true };
}

function isDarkNow(): boolean {
	const forced = document.documentElement.dataset.theme;
	return forced ? forced === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Which theme canvases draw for. */
export function useDark(): boolean {
	const [isDark, set] = useState(isDarkNow);
	useEffect(() => {
		const update = () => set(isDarkNow());
		const media = matchMedia("(prefers-color-scheme: dark)");
		const seen = new MutationObserver(update);
		seen.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
		media.addEventListener("change", update);
		return () => {
			seen.disconnect();
			media.removeEventListener("change", update);
		};
	}, []);
	return isDark;
}

/** The size of an element, kept up to date. */
export function useSize<E extends HTMLElement>(): [(element: E | null) => void, { width: number; height: number }] {
	const [element, setElement] = useState<E | null>(null);
	const [size, set] = useState({ width: 0, height: 0 });
	useEffect(() => {
		if (!element) return;
		const seen = new ResizeObserver(() => set({ width: element.clientWidth, height: element.clientHeight }));
		seen.observe(element);
		set({ width: element.clientWidth, height: element.clientHeight });
		return () => seen.disconnect();
	}, [element]);
	return [setElement, size];
}

/** Draws with the page's next picture when one of the inputs has changed; once, however often that was. */
export function useDrawing(draw: () => void, inputs: unknown[]): void {
	const latest = useRef(draw);
	const frame = useRef(0);
	latest.current = draw;
	useLayoutEffect(() => {
		frame.current ||= requestAnimationFrame(() => {
			frame.current = 0;
			latest.current();
		});
	}, inputs);
	useEffect(() => () => cancelAnimationFrame(frame.current), []);
}

/** A canvas of that size in CSS pixels, cleared, ready to draw in them. */
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
	const ratio = devicePixelRatio || 1;
	const w = Math.max(1, Math.round(width * ratio));
	const h = Math.max(1, Math.round(height * ratio));
	if (canvas.width !== w) canvas.width = w;
	if (canvas.height !== h) canvas.height = h;
	const context = canvas.getContext("2d");
	context?.setTransform(ratio, 0, 0, ratio, 0, 0);
	context?.clearRect(0, 0, width, height);
	return context;
}
