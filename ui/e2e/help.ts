// SPDX-License-Identifier: MIT
// What the browser tests share: the built tool, its server, Debian's Chromium, and a page whose every error and
// every request to a stranger is kept.
import { ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Browser, BrowserContextOptions, chromium, Page } from "playwright-core";

const ROOT = resolve(__dirname, "../..");
export const LEADLINE = process.env.LEADLINE ?? join(ROOT, "build/leadline");
export const DATA = join(ROOT, "tests/data");
/** As pyperf, hyperfine and pytest-benchmark have written them. */
export const RESULTS = ["pyperf", "hyperfine", "pytest_benchmark"].map((name) => join(ROOT, "tests/fuzz/corpus/results", name));
export const FOLDER = mkdtempSync(join(tmpdir(), "leadline-page-"));

/** Far more than anything takes: a loaded machine must not fail a test. */
export const PATIENCE_MS = 120000;

export function tool(...args: string[]): string {
	return execFileSync(LEADLINE, args, { encoding: "utf-8", stdio: ["ignore", "pipe", "pipe"] });
}

/** `leadline report --json`, parsed. */
export function report(...args: string[]) {
	return JSON.parse(tool("report", "--json", ...args));
}

/** The recording as another file, with the function that was seen most often taking three times as long. */
export function slower(recording: string): string {
	const file = join(FOLDER, "slower.speedscope.json");
	tool("export", recording, "--format=speedscope", "-o", file);
	const data = JSON.parse(readFileSync(file, "utf-8"));
	const seen = new Map<number, number>();
	const each = (take: (profile: { weights: number[] }, i: number, leaf: number) => void) => {
		for (const profile of data.profiles) profile.samples.forEach((stack: number[], i: number) => take(profile, i, stack[stack.length - 1]));
	};
	each((_profile, _i, leaf) => seen.set(leaf, (seen.get(leaf) ?? 0) + 1));
	const [most] = [...seen].reduce((a, b) => (b[1] > a[1] ? b : a));
	each((profile, i, leaf) => (profile.weights[i] *= leaf === most ? 3 : 1));
	writeFileSync(file, JSON.stringify(data));
	return file;
}

export interface Server {
	url: string;
	process: ChildProcess;
	stop(): Promise<void>;
}

export async function serve(...files: string[]): Promise<Server> {
	const process = spawn(LEADLINE, ["view", "--no-browser", ...files], { stdio: ["ignore", "pipe", "pipe"] });
	const url = await new Promise<string>((found, failed) => {
		let said = "";
		process.stderr?.on("data", (more) => (said += more));
		process.stdout?.on("data", (more) => {
			said += more;
			const match = /http:\/\/\S+/.exec(said);
			if (match) found(match[0]);
		});
		process.once("exit", (status) => failed(new Error(`view ended with ${status}: ${said}`)));
	});
	const stop = () =>
		new Promise<void>((done) => {
			process.removeAllListeners("exit");
			process.on("exit", () => done());
			process.kill("SIGTERM");
		});
	return { url, process, stop };
}

/** The address that shows the place, for a tab that does not have the token. */
export function link(server: Server, hash: string): string {
	return server.url + hash.replace(/^#/, "");
}

export function launch(): Promise<Browser> {
	return chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
}

export interface Opened {
	page: Page;
	/** Errors of scripts, refusals of the content security policy, dialogs. */
	errors: string[];
	/** Requests to anybody but the page's own server. */
	strangers: string[];
}

export async function open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Opened> {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", ...options });
	const page = await context.newPage();
	page.setDefaultTimeout(PATIENCE_MS);
	const errors: string[] = [];
	const strangers: string[] = [];
	const origin = new URL(url).origin;
	page.on("pageerror", (error) => errors.push(String(error)));
	page.on("console", (message) => {
		// What a recording cannot tell is a status the browser logs; the page shows the reason.
		if (message.type() === "error" && !/status of 409/.test(message.text())) errors.push(message.text());
	});
	page.on("dialog", (dialog) => {
		errors.push(`dialog: ${dialog.message()}`);
		void dialog.dismiss();
	});
	page.on("request", (request) => {
		const to = new URL(request.url());
		if (to.protocol !== "data:" && to.protocol !== "blob:" && request.url() !== url.split("#")[0] && to.origin !== origin) strangers.push(request.url());
	});
	await page.goto(url);
	await page.waitForSelector("main#main");
	return { page, errors, strangers };
}

/** Another place of the same page, by its address. */
export async function go(page: Page, hash: string): Promise<void> {
	await page.evaluate((to) => {
		location.hash = to;
	}, hash);
}

const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");

/** What axe calls serious or critical; isDark: of colours alone, as only they differ then. */
export async function seriousIn(page: Page, isDark: boolean): Promise<string[]> {
	if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
	return page.evaluate(async (only) => {
		const axe = (globalThis as unknown as { axe: { run: (...args: unknown[]) => Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> } }).axe;
		const result = await axe.run(document, { resultTypes: ["violations"], ...(only ? { runOnly: ["color-contrast"] } : {}) });
		return result.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => `${v.id}: ${v.nodes[0].html}`);
	}, isDark);
}

/** What each view shows when it has its answer. */
export const READY: Record<string, string> = {
	overview: ".tops button",
	flame: ".picture canvas",
	source: ".listing tr.measured",
	timeline: ".time-canvas canvas",
	graph: ".graph .node",
	table: ".grid tbody tr",
	diff: ".diffview .picture canvas",
	bench: ".benchview .grid tbody tr",
};
