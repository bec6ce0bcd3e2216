// SPDX-License-Identifier: MIT
// The token that every request carries. It comes in the address behind "#", which no server gets to see, as itself or as a
// code that is good for it once; it leaves the address before anything else happens, and stays with this tab: a cookie
// would go to every port of this machine, and other ports are other users'.

export interface Arrival {
	kind: "token" | "code";
	value: string;
	/** The place in the page that the address names, too: "#/flame?…", or "". */
	hash: string;
}

/** What an address brings; undefined: nothing but a place. */
export function arrivalOf(hash: string): Arrival | undefined {
	const match = /^#(token|code)=([\w-]+)(\/.*)?$/s.exec(hash);
	return match ? { kind: match[1] as Arrival["kind"], value: match[2], hash: match[3] ? `#${match[3]}` : "" } : undefined;
}

/** An address that opens the same place elsewhere; base: the page's. */
export function linkWith(token: string, base: URL, hash: string): string {
	return new URL(`#token=${token}${hash.replace(/^#/, "")}`, base).href;
}

/** Of this page: behind a hub several of them may have one origin. */
const keyOf = (base: URL) => `leadline-token ${base.pathname}`;

function keep(base: URL, token: string): void {
	try {
		sessionStorage.setItem(keyOf(base), token);
	} catch {
		// No storage: it lasts until the page is loaded again.
	}
}

function kept(base: URL): string {
	try {
		return sessionStorage.getItem(keyOf(base)) ?? "";
	} catch {
		return "";
	}
}

async function exchange(base: URL, code: string): Promise<string> {
	try {
		const answer = await fetch(new URL("api/token", base).href, { method: "POST", headers: { "X-Leadline-Code": code }, cache: "no-store" });
		const body = await answer.json();
		return answer.ok && typeof body.token === "string" ? body.token : "";
	} catch {
		return "";
	}
}

/** The token of this page, "" where it has none; whatever brought it is gone from the address and the history. */
export async function takeToken(base: URL): Promise<string> {
	const arrival = arrivalOf(location.hash);
	if (!arrival) return kept(base);
	history.replaceState(null, "", location.pathname + location.search + arrival.hash);
	const token = arrival.kind === "token" ? arrival.value : await exchange(base, arrival.value);
	if (token) keep(base, token);
	// A code that was used before: this tab may have been the one.
	return token || kept(base);
}
