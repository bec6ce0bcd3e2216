// SPDX-License-Identifier: MIT
// The pages of PyTorch traces in Chromium: the numbers of the tables are those of the report.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DATA, FOLDER, go, launch, link, open, PATIENCE_MS, report, seriousIn, serve, Server, tool } from "./help";

const trace = (name: string) => join(DATA, "torch", `${name}.pt.trace.json.gz`);
const TRACES = ["h200_conv", "conv_full", "mlp_stack", "compile_cold"];
const PANES = ["overview", "operators", "kernels", "steps", "streams", "modules", "memory", "timeline"];

const READY_PANE = ".pane .grid tbody tr, .pane .advice, .pane .time-canvas canvas";

let browser: Browser;
let server: Server;

beforeAll(async () => {
	browser = await launch();
	server = await serve(...TRACES.map(trace));
});

afterAll(async () => {
	await browser?.close();
	await server?.stop();
});

/** Rows of the first table that has these heads, by the words of its heads without units. */
function cells(page: Page, wanted: string[] = []): Promise<Record<string, string>[]> {
	return page.$$eval(".torchview .grid:not(.launches)", (grids, names) => {
		const headsOf = (grid: Element | undefined) => [...(grid?.querySelectorAll("thead th") ?? [])].map((th) => (th.textContent ?? "").replace(/ [▾▴]$/, "").replace(/ \(.*\)$/, ""));
		const grid = grids.find((one) => names.every((name) => headsOf(one).includes(name))) ?? grids[0];
		const heads = headsOf(grid);
		return [...(grid?.querySelectorAll<HTMLElement>("tbody tr") ?? [])].map((row) => Object.fromEntries([...row.querySelectorAll<HTMLElement>("td")].map((td, i) => [heads[i], td.dataset.value ?? ""])));
	}, wanted);
}

type Rows = Record<string, string | number>[];

/** Waits until columns of the table, by their heads, are those of the report. */
async function same(page: Page, wanted: Record<string, (string | number)[]>): Promise<void> {
	const shown = async () => {
		const rows = await cells(page, Object.keys(wanted));
		return Object.fromEntries(Object.keys(wanted).map((head) => [head, rows.map((row) => row[head])]));
	};
	const texts = Object.fromEntries(Object.entries(wanted).map(([head, values]) => [head, values.slice(0, 300).map(String)]));
	await expect.poll(shown, { timeout: PATIENCE_MS }).toEqual(texts);
}

/** Columns of the operators' table and their keys. */
const OPERATOR_KEYS = {
	operator: "name", self: "self_cpu_s", "%": "self_cpu_share", total: "cpu_s", calls: "calls", median: "median_s", p99: "p99_s", max: "max_s", "self GPU": "self_device_s", "total GPU": "device_s",
	launches: "launches", memory: "self_cpu_bytes", "GPU memory": "self_device_bytes", FLOPs: "flops", shapes: "shapes", module: "module", "called from": "source",
};

/** An answer of the server as it is. */
async function ask(query: string) {
	const url = new URL(server.url);
	const answer = await fetch(new URL(`api/${query}`, url), { headers: { "X-Leadline-Token": url.hash.replace("#token=", "") } });
	expect(answer.status).toBe(200);
	return answer.json();
}

/** Begins (ns) of what flow events lead from and to: launches, then autograd's; and the first event's begin. */
function flowsIn(name: string): { events: number; pairs: [number, number][][] } {
	const all = JSON.parse(gunzipSync(readFileSync(trace(name))).toString()).traceEvents as Record<string, string | number>[];
	const ns = (event: Record<string, string | number>) => Math.round(Number(event.ts) * 1000);
	const spans = all.filter((event) => event.ph === "X" && event.cat !== "Trace" && event.dur !== undefined);
	const pairs = ["ac2g", "fwdbwd"].map((cat) => {
		const begins = new Map(all.filter((event) => event.cat === cat && event.ph === "s").map((event) => [event.id, ns(event)]));
		return all.filter((event) => event.cat === cat && event.ph === "f").map((event): [number, number] => [begins.get(event.id) ?? NaN, ns(event)]).filter(([from]) => Number.isFinite(from));
	});
	return { events: Math.min(...spans.map(ns)), pairs };
}

function longestKernel(spans: { lanes: { is_device: boolean; kind: number[]; d: number[]; row: number[]; name: number[]; event: number[] }[] }) {
	const lane = spans.lanes.filter((one) => one.is_device)[0];
	const i = lane.d.reduce((best, d, k) => (lane.kind[k] === 5 && (best < 0 || d > lane.d[best]) ? k : best), -1);
	return { lane, row: lane.row[i], i };
}

test("operators have the numbers of report --ops, by name and by shapes", async () => {
	const { page, errors, strangers } = await open(browser, server.url);
	for (const [r, name] of TRACES.entries()) {
		for (const shapes of [false, true]) {
			const rows: Rows = report(trace(name), "--ops", "--limit=0", ...(shapes ? ["--group-by-shape"] : [])).operators;
			expect(rows.length).toBeGreaterThan(10);
			await go(page, `#/torch?r=${r}&pane=operators${shapes ? "&shapes=1" : ""}`);
			const known = Object.entries(OPERATOR_KEYS).filter(([, key]) => rows.some((row) => row[key] !== undefined && row[key] !== ""));
			expect(known.length).toBeGreaterThan(7);
			await same(page, Object.fromEntries(known.map(([head, key]) => [head, rows.map((row) => row[key] ?? "")])));
		}
	}
	expect([errors, strangers]).toEqual([[], []]);
	await page.context().close();
});

test("the overview, kernels, steps and streams have the report's numbers", async () => {
	const { page, errors } = await open(browser, server.url);
	for (const [r, name] of TRACES.entries()) {
		const all = report(trace(name), "--overview", "--steps", "--kernels", "--streams", "--modules", "--memory", "--compile", "--limit=0");
		await go(page, `#/torch?r=${r}`);
		const parts = () => page.$$eval("b[data-part]", (found) => Object.fromEntries(found.map((b) => [(b as HTMLElement).dataset.part, Number((b as HTMLElement).dataset.value)])));
		await expect.poll(parts, { timeout: PATIENCE_MS }).toEqual(Object.fromEntries(Object.entries(all.overview.parts_s).filter(([, value]) => Number(value) > 0)));
		expect(await page.$$eval(".advice > li > b", (found) => found.map((b) => b.textContent))).toEqual(all.overview.advice.map((one: { title: string }) => one.title));
		const facts = await page.$$eval("[data-fact]", (found) => Object.fromEntries(found.map((dd) => [(dd as HTMLElement).dataset.fact, Number((dd as HTMLElement).dataset.value)])));
		if (all.overview.kernel_s) expect([facts.busy, facts["SM efficiency"], facts.occupancy]).toEqual([all.overview.busy_s, all.overview.sm_efficiency_share, all.overview.occupancy_share]);
		await go(page, `#/torch?r=${r}&pane=steps`);
		await same(page, { time: all.steps.map((row: Record<string, number>) => row.duration_s) });
		const panes = await page.$$eval(".subtabs a", (found) => found.map((a) => a.textContent));
		expect(panes.includes("Kernels")).toBe(all.kernels.length > 0);
		expect([panes.includes("Modules"), panes.includes("Memory")]).toEqual([all.modules.length > 0, all.memory.devices.length > 0]);
		expect([panes.includes("Compilation"), facts["FLOP/s"]]).toEqual([all.compilation.compilations.length > 0, all.work?.flops_per_s]);
		if (all.compilation.compilations.length) {
			await go(page, `#/torch?r=${r}&pane=compile`);
			await same(page, { "compiled for": all.compilation.frames.map((row: Record<string, number>) => row.compile_s) });
			await expect.poll(() => page.$$eval("[data-stage]", (found) => found.map((b) => Number((b as HTMLElement).dataset.value))), { timeout: PATIENCE_MS }).toEqual(Object.values(all.compilation.stages_s).filter((seconds) => Number(seconds) > 0));
		}
		if (all.modules.length) {
			await go(page, `#/torch?r=${r}&pane=modules`);
			await same(page, { module: all.modules.map((row: { name: string }) => row.name) });
			await same(page, { forward: all.modules.map((row: Record<string, number>) => row.total_s) });
		}
		if (all.memory.devices.length) {
			await go(page, `#/torch?r=${r}&pane=memory`);
			await same(page, { allocated: all.memory.operators.map((row: Record<string, number>) => row.allocated_bytes) });
			expect(await page.$$eval(".memorypane [data-fact]", (found) => found.map((one) => Number((one as HTMLElement).dataset.value)))).toEqual(all.memory.devices.map((row: Record<string, number>) => row.peak_bytes));
		}
		if (!all.kernels.length) continue;
		await go(page, `#/torch?r=${r}&pane=kernels`);
		await same(page, { time: all.kernels.map((row: Record<string, number>) => row.total_s) });
		await same(page, { "launched by": all.kernels.map((row: Record<string, string>) => row.operator) });
		await go(page, `#/torch?r=${r}&pane=kernels&launches=1`);
		await same(page, { registers: report(trace(name), "--kernels", "--group-by-shape", "--limit=0").kernels.map((row: Record<string, number>) => row.registers ?? "") });
		await go(page, `#/torch?r=${r}&pane=streams`);
		await same(page, { "host wait": all.streams.map((row: Record<string, number>) => row.host_wait_s) });
	}
	expect(errors).toEqual([]);
	await page.context().close();
});

test("a trace opens where its operators are; search, order and selection stand in the address", async () => {
	const one = await serve(trace("h200_conv"));
	const { page, errors } = await open(browser, one.url);
	await page.waitForSelector(".tabs a[aria-current] >> text=Torch");
	await page.locator(".subtabs a", { hasText: "Operators" }).click();
	await page.locator(".torchview th button", { hasText: "calls" }).click();
	await page.keyboard.press("/");
	await page.keyboard.type("convolution");
	const rows: Rows = report(trace("h200_conv"), "--ops", "--limit=0", "--sort=count").operators;
	const wanted = rows.filter((row) => /convolution/i.test(`${row.name} ${row.module} ${row.source}`)).map((row) => row.calls);
	await same(page, { calls: wanted });
	await page.locator(".torchview td.code button").first().click();
	await page.waitForSelector(".drawer h2 >> text=onvolution");
	await page.waitForSelector(".leadline .here .chosen >> text=onvolution");
	expect(page.url()).toMatch(/op=.*onvolution/);
	const again = await open(browser, link(one, new URL(page.url()).hash));
	await again.page.waitForSelector(".drawer h2 >> text=onvolution");
	await same(again.page, { calls: wanted });
	expect(errors).toEqual([]);
	await again.page.context().close();
	await page.context().close();
	await one.stop();
});

test("axe finds nothing serious in any pane, light and dark, and nothing is wider than a phone", async () => {
	const { page } = await open(browser, server.url, { viewport: { width: 360, height: 740 } });
	for (const colorScheme of ["light", "dark"] as const) {
		await page.emulateMedia({ colorScheme });
		// Only colours differ in the dark, and these have all of them.
		for (const pane of colorScheme === "dark" ? ["overview", "memory"] : PANES) {
			await go(page, `#/torch?pane=${pane}&op=aten::addmm`);
			await page.waitForSelector(`.subtabs a[href$="pane=${pane}"][aria-current]`);
			await page.waitForSelector(READY_PANE);
			// The others are tables like that of operators.
			if (!["kernels", "modules"].includes(pane)) expect([colorScheme, pane, await seriousIn(page, colorScheme === "dark")]).toEqual([colorScheme, pane, []]);
			expect([pane, await page.evaluate(() => document.documentElement.scrollWidth)]).toEqual([pane, 360]);
		}
	}
	await page.context().close();
});

test("one file holds the panes, from the disk, without a network", async () => {
	const file = join(FOLDER, "torch.html");
	tool("view", trace("h200_conv"), "-o", file);
	const { page, errors, strangers } = await open(browser, `file://${file}`, { offline: true });
	const all = report(trace("h200_conv"), "--ops", "--kernels", "--limit=0");
	await go(page, "#/torch?pane=operators");
	await same(page, { self: all.operators.map((row: Record<string, number>) => row.self_cpu_s) });
	await go(page, "#/torch?pane=kernels");
	await same(page, { time: all.kernels.map((row: Record<string, number>) => row.total_s) });
	for (const pane of ["overview", "steps", "streams", "modules", "memory", "timeline"]) {
		await go(page, `#/torch?pane=${pane}`);
		await page.waitForSelector(READY_PANE);
	}
	await go(page, "#/torch?pane=timeline&q=gemm");
	await page.locator(".twin summary").click();
	await page.locator(".twin td.code button").first().click();
	await page.waitForSelector(".drawer >> text=Launched by");
	expect([errors, strangers]).toEqual([[], []]);
	await page.context().close();
});

test("flows are those that torch wrote into the trace", async () => {
	const { events, pairs } = flowsIn("h200_conv");
	const data = await ask("torch?r=0&what=timeline&px=10000&flows=1&python=1");
	const at = new Map<number, number>();
	for (const lane of data.lanes) lane.event.forEach((event: number, i: number) => at.set(event, lane.t[i]));
	for (const kind of [0, 1]) {
		const drawn = data.flows.filter((flow: number[]) => flow[2] === kind).map(([from, to]: number[]) => `${at.get(from)} ${at.get(to)}`);
		expect(drawn.length).toBeGreaterThan(20);
		expect(drawn.sort()).toEqual(pairs[kind].map(([from, to]) => `${from - events} ${to - events}`).sort());
	}
});

test("the timeline zooms with keys, selects, and shows what a kernel was launched by", async () => {
	const { page, errors } = await open(browser, link(server, "#/torch?pane=timeline"));
	await page.locator(".time-canvas canvas").focus();
	await page.keyboard.press("+");
	await expect.poll(() => page.url(), { timeout: PATIENCE_MS }).toContain("win=");
	await page.keyboard.press("0");
	await expect.poll(() => page.url(), { timeout: PATIENCE_MS }).not.toContain("win=");
	const spans = await ask("torch?r=0&what=timeline&px=10000");
	const { lane, row, i } = longestKernel(spans);
	await page.locator(".twin summary").click();
	await page.locator("#search").fill(spans.names[lane.name[i]]);
	await page.locator(".twin td.code button", { hasText: spans.names[lane.name[i]] }).first().click();
	await page.waitForSelector(".drawer >> text=Launched by");
	expect(Number(await page.locator(".drawer dd[data-value]").getAttribute("data-value"))).toBe(lane.d[i] / 1e9);
	expect([row >= 0, page.url()]).toEqual([true, expect.stringContaining(`event=${lane.event[i]}`)]);
	// What is selected is where the picture is: a click on it selects it again.
	await page.locator(".drawer button", { hasText: "cudaLaunchKernel" }).first().click();
	await page.waitForSelector(".drawer h2 >> text=cudaLaunchKernel");
	await page.waitForSelector(".drawer >> text=Ran on the device");
	const again = await open(browser, link(server, new URL(page.url()).hash));
	await again.page.waitForSelector(".drawer h2 >> text=cudaLaunchKernel");
	await page.keyboard.press("Escape");
	await page.waitForSelector(".drawer", { state: "detached" });
	expect(errors).toEqual([]);
	await again.page.context().close();
	await page.context().close();
});

test("ranks of a job stand side by side, with the numbers of report --distributed", async () => {
	const folder = join(DATA, "torch_ranks");
	const all = report("--distributed", folder).distributed;
	const one = await serve(folder);
	const file = join(FOLDER, "ranks.html");
	tool("view", folder, "-o", file);
	for (const url of [one.url, `file://${file}`]) {
		const { page, errors, strangers } = await open(browser, url);
		await go(page, "#/torch?pane=distributed");
		await same(page, { rank: all.ranks.map((row: { rank: number }) => `rank ${row.rank}`), waits: all.ranks.map((row: { waiting_s: number }) => row.waiting_s), communicates: all.ranks.map((row: { communication_s: number }) => row.communication_s) });
		await page.waitForSelector(`.answer >> text=Rank ${all.straggler} holds up the others`);
		expect([errors, strangers, await seriousIn(page, false)]).toEqual([[], [], []]);
		await page.context().close();
	}
	await one.stop();
});

test("ranks open side by side, and one trace at its steps", async () => {
	const one = await serve(join(DATA, "torch_ranks"));
	const { page, errors } = await open(browser, one.url);
	await page.waitForSelector(".subtabs a[aria-current] >> text=Distributed");
	await page.waitForSelector(".rankbars li");
	expect(new URL(page.url()).hash).toBe("#/torch?pane=distributed");
	// Who asks for a place gets it.
	const asked = await open(browser, link(one, "#/overview"));
	await asked.page.waitForSelector(".tabs a[aria-current] >> text=Overview");
	expect(errors).toEqual([]);
	await asked.page.context().close();
	await page.context().close();
	await one.stop();
});

/** Six steps of 10 ms, the fourth of 300; in each an operator in another one, and 1 MiB that is never released. */
function leaking(): string {
	const file = join(FOLDER, "leaking.pt.trace.json");
	const thread = { pid: 7, tid: 7 };
	const events: unknown[] = [];
	let ts = 1000;
	for (let i = 0; i < 6; i++) {
		const dur = i === 3 ? 300000 : 10000;
		const memory = (at: number, bytes: number, address: number) => ({ ph: "i", cat: "cpu_instant_event", s: "t", name: "[memory]", ...thread, ts: ts + at, args: { Bytes: bytes, Addr: address, "Device Id": -1, "Device Type": 0 } });
		const operator = (name: string, at: number, length: number, id: number) => ({ ph: "X", cat: "cpu_op", name, ...thread, ts: ts + at, dur: length, args: { "External id": 10 * i + id } });
		events.push({ ph: "X", cat: "user_annotation", name: `ProfilerStep#${i}`, ...thread, ts, dur, args: { "External id": 10 * i + 1 } });
		events.push(operator("aten::linear", 1000, 5000, 2), operator("aten::addmm", 2000, 3000, 3), operator("aten::clone", 7000, 1000, 4));
		events.push(memory(2500, 4096, 100), memory(2600, -4096, 100), memory(7500, 1 << 20, 1000 + i));
		ts += dur;
	}
	writeFileSync(file, JSON.stringify({ schemaVersion: 1, profile_memory: 1, traceEvents: events }));
	return file;
}

test("one slow step does not flatten the others, and memory names what is not released", async () => {
	const one = await serve(leaking());
	const html = join(FOLDER, "leaking.html");
	tool("view", leaking(), "-o", html);
	for (const url of [one.url, `file://${html}`]) {
		const { page, errors } = await open(browser, url);
		await page.waitForSelector(".stepchart .cut text");
		expect((await page.textContent(".stepchart .cut text"))?.replace("\u00a0", " ")).toBe("300 ms ↑");
		// The others are as high as they can be told apart by.
		const heights = await page.$$eval(".stepchart .frame", (found) => found.map((rect) => Number(rect.getAttribute("height"))));
		expect(heights.length).toBe(6);
		expect(Math.min(...heights) / Math.max(...heights)).toBeGreaterThan(0.5);
		expect(await page.textContent(".stepchart figcaption")).toMatch(/Cut off at the top: ProfilerStep#3 took 300\sms/);
		await go(page, "#/torch?pane=memory");
		await page.waitForSelector("section:has(#unreleased) .grid tbody tr");
		const cells = await page.$$eval("section:has(#unreleased) .grid tbody tr", (rows) => rows.map((row) => [...row.querySelectorAll<HTMLElement>("td")].map((td) => td.dataset.value)));
		expect(cells.map((row) => row.slice(0, 4))).toEqual([["aten::clone", String(6 << 20), "6", "6"]]);
		await page.waitForSelector("section:has(#unreleased) b >> text=aten::clone allocates some of it in 6 of");
		await page.waitForSelector("figcaption >> text=where steps begin");
		expect([errors, await seriousIn(page, false)]).toEqual([[], []]);
		await page.context().close();
	}
	await one.stop();
});

test("an operator tells who calls it and what it calls; its line and module stand beside it without scrolling", async () => {
	const one = await serve(leaking(), trace("mlp_stack"));
	const { page, errors } = await open(browser, link(one, "#/torch?pane=operators&op=aten::linear"));
	const rows = (title: string) => page.$$eval(`.drawer section:has(h3:text-is("${title}")) li`, (found) => found.map((li) => [li.querySelector(".link, .soft:last-child")?.textContent, Number((li as HTMLElement).dataset.value)]));
	await page.waitForSelector(".drawer h3 >> text=Time spent in");
	const spent = async () => (await rows("Time spent in")).map(([name, seconds]) => [name, Number(Number(seconds).toFixed(6))]);
	expect(await spent()).toEqual([["aten::addmm", 0.018], ["itself", 0.012]]);
	await page.locator(".drawer button", { hasText: "aten::addmm" }).click();
	await page.waitForSelector(".drawer h2 >> text=aten::addmm");
	await expect.poll(() => rows("Called by").then((all) => all.map(([name]) => name)), { timeout: PATIENCE_MS }).toEqual(["aten::linear"]);
	await go(page, "#/torch?r=1&pane=operators");
	await page.waitForSelector(".torchview th >> text=module");
	const right = await page.$eval(".torchview .scroll", (box) => box.getBoundingClientRect().right);
	const ends = await page.$$eval(".torchview th", (heads) => heads.filter((th) => /called from|module/.test(th.textContent ?? "")).map((th) => th.getBoundingClientRect().right));
	expect(ends.length).toBe(2);
	expect(Math.max(...ends)).toBeLessThan(right);
	expect(errors).toEqual([]);
	await page.context().close();
	await one.stop();
});

test("two traces are compared by operator, with the numbers of diff --ops, and changes add up to the total", async () => {
	const file = join(FOLDER, "two.html");
	tool("view", trace("h200_conv"), trace("conv_full"), "-o", file);
	for (const url of [server.url, `file://${file}`]) {
		const { page, errors, strangers } = await open(browser, url);
		for (const per of ["", "absolute", "run"]) {
			await go(page, `#/torch?r=0&pane=diff&with=1${per && `&per=${per}`}`);
			const diff = JSON.parse(tool("diff", "--ops", "--json", ...(per ? [`--normalize=${per}`] : []), trace("h200_conv"), trace("conv_full")));
			const rows: { name: string; a: Record<string, number>; b: Record<string, number> }[] = diff.operators;
			await same(page, { operator: rows.map((row) => row.name), A: rows.map((row) => row.a.self_cpu), B: rows.map((row) => row.b.self_cpu), "GPU A": rows.map((row) => row.a.self_device) });
			const changes = (await cells(page)).map((row) => Number(row.self));
			const total = diff.b.total.self_cpu - diff.a.total.self_cpu;
			if (rows.length <= 300) expect(changes.reduce((sum, one) => sum + one, 0)).toBeCloseTo(total, 9);
			if (per !== "run") expect(await page.$$eval("[data-fact=cpu]", (found) => Number((found[0] as HTMLElement).dataset.value))).toBeCloseTo(total, 12);
		}
		expect([errors, strangers, await seriousIn(page, false)]).toEqual([[], [], []]);
		await page.context().close();
	}
});

test("what the training reached, what all advice saves together, and the page of each rule", async () => {
	const { page, errors } = await open(browser, server.url);
	const { overview, work } = report(trace("h200_conv"), "--overview");
	await go(page, "#/torch?r=0");
	const facts = () => page.$$eval("[data-fact]", (found) => Object.fromEntries(found.map((one) => [(one as HTMLElement).dataset.fact, Number((one as HTMLElement).dataset.value)])));
	await expect.poll(facts, { timeout: PATIENCE_MS }).toMatchObject({ "steps/s": overview.steps_per_s, "FLOP/s": work.flops_per_s, MFU: work.peak_flops_share, together: overview.together_s });
	expect(await page.locator("dt", { hasText: "MFU" }).textContent()).toContain(work.peak);
	expect(overview.together_s).toBeLessThan(overview.advice.reduce((sum: number, one: { saving: { value: number } | null }) => sum + (one.saving?.value ?? 0), 0));
	for (const one of overview.advice) {
		const item = page.locator(`.advice > li[data-rule="${one.rule}"]`);
		expect(await item.locator(".confidence").textContent()).toBe(one.confidence);
		expect(await item.locator(".saving").getAttribute("data-value")).toBe(String(one.saving.value));
		expect(await item.locator(".proof code").allTextContents()).toEqual([one.proof.shows, one.proof.proves].map((command: string) => command.replace("FILE", trace("h200_conv"))));
		expect(await item.locator(".place").allTextContents()).toEqual(one.file === null ? [] : [one.line === null ? one.file : `${one.file}:${one.line}`]);
		await item.locator("summary").click();
		await item.locator(".prose >> text=Reported when").waitFor();
	}
	expect([errors, await seriousIn(page, false)]).toEqual([[], []]);
	await page.context().close();
});

test("a finding shows its place, which leads to the source where the recording holds it", async () => {
	const one = await serve(join(DATA, "findings.pt.trace.json"));
	const { page, errors } = await open(browser, one.url);
	const places = () => page.$$eval(".advice > li", (all) => all.map((li) => li.querySelector(".place")?.textContent ?? ""));
	await expect.poll(places, { timeout: PATIENCE_MS }).toEqual(["train.py:40", "data/model.py:12", "", "train.py"]);
	expect(await page.$$eval(".advice .confidence", (all) => all.map((level) => level.textContent))).toEqual(["bound", "measured", "bound", "heuristic"]);
	expect(await page.$$eval(".advice .saving", (all) => all.map((saving) => saving.textContent))).toEqual(["at most 1.80 ms, 6.0 % of the steps", "at most 750 µs, 2.5 % of the steps", "at most 30.0 GiB, 37.5 % of the device's memory"].map((text) => text.replace(/(\d) /g, "$1\u00a0")));
	expect(await page.locator(".advice .place a").count()).toBe(0); // a trace holds no source
	/* As if it were a recording with the text of one of the files. */
	await page.route(/api\/overview/, async (route) => {
		const answer = await route.fetch();
		const json = await answer.json();
		await route.fulfill({ response: answer, json: { ...json, views: { ...json.views, source: "" } } });
	});
	const file = { file: "/home/u/train.py", self: 0, total: 0, n_lines: 90, has_text: true, is_library: false };
	await page.route(/api\/files/, (route) => route.fulfill({ json: { files: [file, { ...file, file: "/home/u/data/model.py", has_text: false }] } }));
	await page.reload();
	await page.locator(".advice .place a").first().waitFor();
	expect(await page.locator(".advice .place a").allTextContents()).toEqual(["train.py:40", "train.py"]);
	expect(await seriousIn(page, false)).toEqual([]);
	await page.locator(".advice .place a").first().click();
	await expect.poll(() => new URL(page.url()).hash, { timeout: PATIENCE_MS }).toMatch(/^#\/source\?.*file=%2Fhome%2Fu%2Ftrain\.py&line=40$/);
	expect(errors).toEqual([]);
	await page.context().close();
	await one.stop();
});

test("a recording that holds operators shows the same, and no view it cannot fill", async () => {
	const file = join(FOLDER, "operators.lead");
	tool("export", trace("h200_conv"), "-o", file);
	const one = await serve(file);
	const { page, errors } = await open(browser, one.url);
	await page.waitForSelector(".tabs a[aria-current] >> text=Torch");
	expect(await page.$$eval(".tabs:not(.subtabs) a", (all) => all.map((a) => a.textContent))).toEqual(["Torch"]);
	await go(page, "#/torch?pane=operators");
	await same(page, { self: report(trace("h200_conv"), "--ops", "--limit=0").operators.map((row: Record<string, number>) => row.self_cpu_s) });
	expect(errors).toEqual([]);
	await page.context().close();
	await one.stop();
});

test("a trace that was cut off shows what is there and says so", async () => {
	const whole = gunzipSync(readFileSync(trace("conv_full")));
	const file = join(FOLDER, "cut.pt.trace.json");
	writeFileSync(file, whole.subarray(0, Math.floor(whole.length * 0.6)));
	const one = await serve(file);
	const { page, errors } = await open(browser, one.url);
	await page.waitForSelector(".notice >> text=ends before its events do");
	expect(await page.$$eval(".tabs a", (all) => all.map((a) => a.textContent))).toContain("Torch");
	await go(page, "#/torch?pane=operators");
	await same(page, { operator: report(file, "--ops", "--limit=0").operators.map((row: { name: string }) => row.name) });
	expect(errors).toEqual([]);
	await page.context().close();
	await one.stop();
});
