// SPDX-License-Identifier: MIT
// Where answers come from: the server, or the data a one-file page carries. One interface, the same shapes.
import { linkWith } from "./token";

export type Params = Record<string, string | number | boolean | string[] | undefined>;

export interface DataSource {
	/** A page that carries its data cannot compute other selections. */
	isEmbedded: boolean;
	/** What was left out of a page that carries its data. */
	dropped: string[];
	get<T>(name: string, params: Params): Promise<T>;
	quit?(): Promise<void>;
	/** An address that shows the place `hash` names, for another tab; the page's own lacks the token. */
	link?(hash: string): string;
}

/** An answer that cannot be had, with one line to show. */
export class Refusal extends Error {
	constructor(
		message: string,
		/** 409: the recording cannot answer that. 0: no answer came. */
		public status: number,
	) {
		super(message);
	}
}

/** The query, without what is not set; arrays repeat their name. */
export function queryOf(params: Params): string {
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(params)) {
		if (value === undefined || value === "" || value === false) continue;
		if (Array.isArray(value)) for (const one of value) query.append(name, one);
		else query.append(name, value === true ? "1" : String(value));
	}
	return query.toString();
}

export function serverSource(token: string, base: URL): DataSource {
	const headers = { "X-Leadline-Token": token };
	const at = (path: string) => new URL(`api/${path}`, base).href;
	return {
		isEmbedded: false,
		dropped: [],
		async get<T>(name: string, params: Params): Promise<T> {
			let answer: Response;
			try {
				answer = await fetch(at(`${name}?${queryOf(params)}`), { headers, cache: "no-store" });
			} catch {
				throw new Refusal("No answer from the server. Is leadline view still running?", 0);
			}
			const body = await answer.json().catch(() => ({ error: `The server answered with status ${answer.status}.` }));
			if (!answer.ok) throw new Refusal(body.error ?? `The server answered with status ${answer.status}.`, answer.status);
			return body as T;
		},
		async quit() {
			await fetch(at("quit"), { method: "POST", headers });
		},
		link: (hash) => linkWith(token, base, hash),
	};
}
