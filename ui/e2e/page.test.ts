// SPDX-License-Identifier: MIT
// The page as a user has it, in Chromium, against the real server and recordings whose numbers are fixed.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DATA, FOLDER, go, launch, LEADLINE, link, open, Opened, PATIENCE_MS, READY, report, RESULTS, seriousIn, serve, Server, slower, tool } from "./help";

const ORDERS = join(DATA, "orders.lead");
const TRACED = join(DATA, "traced.lead");
const SLOWER = slower(ORDERS);

let browser: Browser;
let server: Server;
let opened: Opened;

beforeAll(async () => {
	browser = await launch();
	server = await serve(ORDERS, TRACED, join(DATA, "gil.lead"), SLOWER, ...RESULTS);
	opened = await open(browser, server.url);
});

afterAll(async () => {
	await browser?.close();
	await server?.stop();
});

/** The address with another place. */
const at = (hash: string) => link(server, hash);

test("tables have the numbers of report --json", async () => {
	const { page } = opened;
	for (const [what, options] of [["functions", []], ["lines", []], ["functions", ["--only-mine"]], ["functions", ["--from=0.2", "--to=0.8"]]] as [string, string[]][]) {
		const selection = options.map((o) => (o === "--only-mine" ? "onlyMine=1" : o.slice(2))).join("&");
		await go(page, `#/table?what=${what}&${selection}`);
		const wanted = report(ORDERS, "--limit=0", ...options)[what].map((row: { self: number; total: number }) => [row.self, row.total]);
		const shown = () => page.$$eval(".grid tbody tr", (rows) => rows.map((row) => [0, 3].map((i) => Number(row.querySelectorAll<HTMLElement>("td.num")[i].dataset.value))));
		// The 200 with most time; more come when asked for.
		await expect.poll(async () => (await shown()).map(([self]) => self), { timeout: PATIENCE_MS }).toEqual(wanted.slice(0, 200).map(([self]: number[]) => self));
		expect((await shown()).length).toBeGreaterThan(3);
	}
	// No link to an editor unless it was asked for.
	await go(page, "#/source?f=1");
	await page.waitForSelector(".view-source .grid tr");
	expect(await page.locator("a.editor").count()).toBe(0);
});

test("the total column is the report's, too, and counted calls stand beside", async () => {
	const { page } = opened;
	await go(page, "#/table?r=1");
	const wanted = report(TRACED, "--limit=0").functions.map((row: { name: string; total: number; calls: number }) => [row.name, row.total, row.calls]);
	const shown = () =>
		page.$$eval(".grid tbody tr", (rows) =>
			rows.map((row) => {
				const cells = [...row.querySelectorAll<HTMLElement>("td")];
				return [cells[5].textContent, Number(cells[2].dataset.value), Number(cells[4].dataset.value)];
			}),
		);
	await expect.poll(shown, { timeout: PATIENCE_MS }).toEqual(wanted.slice(0, 200));
});

test("a comparison has the numbers of leadline diff, and its boxes are walked with keys", async () => {
	const { page, errors } = await open(browser, at("#/diff?with=3&all=1"));
	const wanted = JSON.parse(tool("diff", ORDERS, SLOWER, "--json"));
	const shown = (key: string) => page.$$eval(".diffview .grid tbody tr", (rows) => rows.slice(0, 100).map((row) => Number(row.querySelectorAll<HTMLElement>("td.num")[0].dataset.value))).then((all) => [key, all]);
	for (const [key, what] of [["functions", "self"], ["lines", "self"], ["functions", "total"]] as ["functions" | "lines", "self" | "total"][]) {
		await go(page, `#/diff?with=3&all=1&what=${key}&sort=${what}`);
		const changes = wanted[key].map((row: Record<string, { change: number }>) => row[what].change).sort((a: number, b: number) => Math.abs(b) - Math.abs(a));
		await expect.poll(() => shown(`${key} ${what}`), { timeout: PATIENCE_MS }).toEqual([`${key} ${what}`, changes.slice(0, 100)]);
	}
	expect(await page.locator(".diffview tr.more, .diffview tr.less").count()).toBe(wanted.functions.filter((row: { total: { is_named: boolean } }) => row.total.is_named).length);
	await page.locator(READY.diff).focus();
	for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
	await page.waitForSelector(".crumbs [aria-current=location]");
	expect(page.url()).toContain("step=");
	await page.locator("button", { hasText: "swap" }).click();
	await expect.poll(() => page.textContent(".sides"), { timeout: PATIENCE_MS }).toBe("A slower.speedscope.json");
	await page.locator(".choice:has-text('compare') select").selectOption("unit");
	await page.locator(".choice:has-text('unit') input").fill("10:20");
	await page.keyboard.press("Enter");
	await page.waitForSelector(".answer >> text=per unit of work");
	expect(errors).toEqual([]);
	await page.context().close();
});

test("results of benchmarks stand alone, with the numbers of the report", async () => {
	const one = await serve(...RESULTS);
	const { page, errors, strangers } = await open(browser, one.url);
	await page.waitForSelector(READY.bench);
	expect(page.url()).toContain("#/bench");
	expect(await page.$$eval(".tabs a", (all) => all.length)).toBe(1);
	const wanted = RESULTS.flatMap((file) => report(file).benchmarks as { name: string; least: number; median: number; mean: number }[]);
	const shown = await page.$$eval(".grid tbody tr", (rows) =>
		rows.map((row) => {
			const cells = [...row.querySelectorAll<HTMLElement>("td")];
			return [cells[7].textContent, ...[0, 1, 3].map((i) => Number(cells[i].dataset.value))] as [string, ...number[]];
		}),
	);
	const sorted = (rows: unknown[]) => rows.map((row) => JSON.stringify(row)).sort();
	expect(sorted(shown)).toEqual(sorted(wanted.map((b) => [b.name, b.least, b.median, b.mean])));
	await page.locator(".grid td.code button", { hasText: "sleep" }).focus();
	await page.keyboard.press("Enter");
	await expect.poll(() => page.locator(".grid tbody tr").count(), { timeout: PATIENCE_MS }).toBe(1);
	expect(page.url()).toContain("bench=sleep");
	expect([errors, strangers]).toEqual([[], []]);
	await page.context().close();
	await one.stop();
});

test("the overview names what the report has first", async () => {
	const { page } = opened;
	await go(page, "#/overview");
	const wanted = report(ORDERS);
	await expect.poll(() => page.$$eval(".tops [data-f]", (all) => all.map((one) => Number((one as HTMLElement).dataset.self))), { timeout: PATIENCE_MS })
		.toEqual(wanted.functions.filter((row: { self: number }) => row.self > 0).slice(0, 10).map((row: { self: number }) => row.self));
	expect(await page.textContent("main")).toContain(wanted.functions[0].name);
});

test("every view fills, of each kind of file, with no error and no request to a stranger", async () => {
	const pstats = join(FOLDER, "x.prof");
	const pprof = join(FOLDER, "x.pb.gz");
	tool("export", TRACED, "--format=pstats", "-o", pstats);
	tool("export", ORDERS, "--format=pprof", "-o", pprof);
	for (const file of [ORDERS, TRACED, pstats, pprof]) {
		const one = await serve(file);
		const { page, errors, strangers } = await open(browser, one.url);
		const names = await page.$$eval(".tabs a", (all) => all.map((a) => a.getAttribute("href")?.slice(2) ?? ""));
		// Other tools' files may hold no call stacks, or no lines.
		expect(names).toContain("table");
		if (file !== pstats) expect(names).toContain("flame");
		for (const name of names) {
			await go(page, `#/${name}`);
			await page.waitForSelector(`.view-${name} ${READY[name]}, .view-${name} .notice`);
		}
		expect([file, errors, strangers]).toEqual([file, [], []]);
		await page.context().close();
		await one.stop();
	}
});

test("a selection applies everywhere and stands in the address", async () => {
	const { page } = await open(browser, at("#/table"));
	const name = await page.locator(".grid tbody tr td.code").first().textContent();
	await page.locator(".grid tbody tr td.code button").first().click();
	await page.waitForSelector(".drawer");
	expect(await page.textContent(".drawer h2")).toBe(name);
	await page.locator(".drawer button", { hasText: "focus" }).click();
	await page.waitForSelector(".chip >> text=focus");
	await page.locator(".tabs a", { hasText: "Flame" }).click();
	await page.waitForSelector(READY.flame);
	const address = page.url();
	expect(address).toMatch(/focus=.*f=\d+|f=\d+.*focus=/);
	const again = await open(browser, at(new URL(address).hash));
	await again.page.waitForSelector(".chip >> text=focus");
	expect(await again.page.textContent(".drawer h2")).toBe(name);
	await again.page.locator(".chip").first().click();
	await expect.poll(() => again.page.locator(".chip").count(), { timeout: PATIENCE_MS }).toBe(0);
	await page.context().close();
	await again.page.context().close();
});

test("a brush in the timeline is a chip that counts in the table", async () => {
	const { page } = await open(browser, at("#/timeline"));
	const canvas = page.locator(READY.timeline);
	const box = (await canvas.boundingBox())!;
	await page.mouse.move(box.x + box.width * 0.2, box.y + 40);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * 0.5, box.y + 40, { steps: 4 });
	await page.mouse.up();
	await page.waitForSelector(".chip >> text=time");
	const query = new URLSearchParams(page.url().split("?").at(-1));
	await page.locator(".tabs a", { hasText: "Table" }).click();
	const wanted = report(ORDERS, `--from=${query.get("from")}s`, `--to=${query.get("to")}s`).functions[0].self;
	await expect.poll(() => page.locator(".grid tbody td.num").first().getAttribute("data-value"), { timeout: PATIENCE_MS }).toBe(String(wanted));
	await page.context().close();
});

test("one can zoom into the flame graph with keys alone, and out again", async () => {
	const { page } = await open(browser, at("#/flame"));
	await page.locator(READY.flame).focus();
	for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
	await page.waitForSelector(".crumbs [aria-current=location]");
	expect(page.url()).toContain("node=");
	await page.locator(READY.flame).focus();
	await page.keyboard.press("Escape");
	await page.waitForSelector(".crumbs", { state: "detached" });
	for (const style of ["flame", "sunburst"]) {
		await page.locator(".choice:has-text('style') select").selectOption(style);
		await page.waitForSelector(READY.flame);
	}
	for (const order of ["inverted", "time", "sandwich"]) {
		await page.locator(".choice:has-text('order') select").selectOption(order);
		await page.waitForSelector(".picture canvas, .notice");
	}
	await page.context().close();
});

test("search tells how many match and how much of the time passes through them", async () => {
	const { page, errors } = await open(browser, at("#/flame"));
	await page.keyboard.press("/");
	await page.keyboard.type("iterencode");
	await expect.poll(() => page.textContent(".found"), { timeout: PATIENCE_MS }).toMatch(/^\d+.functions? match.*“iterencode”.*%/);
	await page.keyboard.press("Escape");
	await page.keyboard.press("]");
	await page.waitForSelector(".tabs a[aria-current] >> text=Source");
	await page.keyboard.press("[");
	await page.waitForSelector(".tabs a[aria-current] >> text=Flame");
	await page.keyboard.press("?");
	await page.waitForSelector("dialog[open]");
	await page.keyboard.press("Escape");
	await page.waitForSelector("dialog[open]", { state: "detached" });
	expect(errors).toEqual([]);
	await page.context().close();
});

test("a line opens to its bytecode where the recording holds it", async () => {
	const script = join(FOLDER, "hot.py");
	const recording = join(FOLDER, "hot.lead");
	writeFileSync(script, "# </script><img src=x onerror=alert(1)>\ndef work(n):\n    total = 0\n    for i in range(n):\n        total += i * i\n    return total\n\nwork(9_000_000)\n");
	tool("run", "-o", recording, script);
	const one = await serve(recording, "--editor=vscode");
	const { page, errors } = await open(browser, link(one, "#/source"));
	await page.waitForSelector(READY.source);
	expect(await page.locator(".listing a.editor").nth(4).getAttribute("href")).toBe(`vscode://file${script}:5`);
	expect(await page.textContent(".listing")).toContain("# </script><img src=x onerror=alert(1)>");
	await page.locator(".listing button[aria-expanded=false]").first().click();
	await page.waitForSelector(".grid.ops tbody tr");
	await page.waitForSelector(".leadline [aria-current] >> text=bytecode");
	expect(errors).toEqual([]);
	await page.context().close();
	await one.stop();
});

test("names that are HTML stay text in every view", async () => {
	const file = join(FOLDER, "hostile.folded");
	const evil = "<script>alert(1)</script><img src=x onerror=alert(2)>";
	writeFileSync(file, `main;${evil};leaf 10\n${evil};</script>${evil} 5\n`);
	const one = await serve(file);
	const { page, errors, strangers } = await open(browser, one.url);
	for (const name of ["overview", "table", "graph", "flame"]) {
		await go(page, `#/${name}?f=1`);
		await page.waitForSelector(`.view-${name} ${READY[name]}`);
	}
	expect(await page.$$eval("img", (all) => all.length)).toBe(0);
	expect([errors, strangers]).toEqual([[], []]);
	await page.context().close();
	await one.stop();
});

test("axe finds nothing serious in any view, light and dark", async () => {
	const { page } = await open(browser, at("#/overview"));
	for (const colorScheme of ["light", "dark"] as const) {
		await page.emulateMedia({ colorScheme });
		for (const name of Object.keys(READY)) {
			await go(page, `#/${name}?f=1`);
			await page.waitForSelector(`.view-${name} ${READY[name]}, .view-${name} .notice`);
			expect([colorScheme, name, await seriousIn(page, colorScheme === "dark")]).toEqual([colorScheme, name, []]);
		}
	}
	await page.context().close();
});

test("at 360 pixels nothing is wider than the screen", async () => {
	const { page } = await open(browser, at("#/overview"), { viewport: { width: 360, height: 740 } });
	for (const name of Object.keys(READY)) {
		await go(page, `#/${name}`);
		await page.waitForSelector(`.view-${name} ${READY[name]}, .view-${name} .notice`);
		expect([name, await page.evaluate(() => document.documentElement.scrollWidth)]).toEqual([name, 360]);
	}
	await page.context().close();
});

test("one file holds the same page, from the disk, without a network", async () => {
	const file = join(FOLDER, "one.html");
	tool("view", ORDERS, SLOWER, ...RESULTS, "-o", file);
	const { page, errors, strangers } = await open(browser, `file://${file}`, { offline: true });
	for (const name of [...Object.keys(READY), "diff?r=1&with=0&normalize=run&side=a", "table"]) {
		await go(page, `#/${name}`);
		await page.waitForSelector(`.view-${name.split("?")[0]} ${READY[name.split("?")[0]]}`);
	}
	const wanted = report(ORDERS, "--limit=0").functions.slice(0, 50).map((row: { self: number }) => row.self);
	const shown = () => page.$$eval(".grid tbody tr", (rows) => rows.slice(0, 50).map((row) => Number(row.querySelector<HTMLElement>("td.num")?.dataset.value)));
	await expect.poll(shown, { timeout: PATIENCE_MS }).toEqual(wanted);
	await go(page, "#/flame?q=iterencode");
	await expect.poll(() => page.textContent(".found"), { timeout: PATIENCE_MS }).toMatch(/functions? match/);
	await page.locator(READY.flame).focus();
	for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
	await page.waitForSelector(".crumbs [aria-current=location]");
	await go(page, "#/table?from=0.5");
	await page.waitForSelector(".notice >> text=leadline view FILE");
	expect([errors, strangers]).toEqual([[], []]);
	await page.context().close();
});

test("inside a notebook the page works without an address of its own", async () => {
	const html = tool("view", ORDERS, "-o", "-").replaceAll("&", "&amp;").replaceAll('"', "&quot;");
	const file = join(FOLDER, "notebook.html");
	writeFileSync(file, `<!doctype html><main id="main">a cell</main><iframe srcdoc="${html}" sandbox="allow-scripts" style="width: 900px; height: 640px"></iframe>`);
	const { page, errors, strangers } = await open(browser, `file://${file}`, { offline: true });
	const frame = page.frameLocator("iframe");
	await frame.locator(READY.overview).first().waitFor();
	for (const title of ["Table", "Flame", "Source"]) {
		await frame.locator(".tabs a", { hasText: title }).click();
		await frame.locator(READY[title.toLowerCase()]).first().waitFor();
	}
	expect([errors, strangers]).toEqual([[], []]);
	await page.context().close();
});

test("the token leaves the address at once, and a reload finds it again", async () => {
	const { page, errors } = await open(browser, at("#/table"));
	const token = new URL(server.url).hash.replace("#token=", "");
	expect(token).toMatch(/^[\w-]{32}$/);
	await page.waitForSelector(READY.table);
	expect(page.url()).toBe(new URL("#/table", server.url).href);
	expect(await page.evaluate(() => [history.length, document.cookie, localStorage.length])).toEqual([2, "", 0]); // about:blank, and the page
	await page.reload();
	await page.waitForSelector(READY.table);
	expect(errors).toEqual([]);
	// A link to it works elsewhere, the address alone does not.
	await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
	await page.locator("button", { hasText: "share" }).click();
	await page.waitForSelector("[role=status] >> text=link copied");
	const shared = await page.evaluate(() => navigator.clipboard.readText());
	const again = await open(browser, shared);
	await again.page.waitForSelector(READY.table);
	expect(again.page.url()).not.toContain(token);
	const stranger = await browser.newPage();
	await stranger.goto(page.url());
	await stranger.waitForSelector(".notice >> text=lacks the token");
	// The whole address, put into that very tab.
	await stranger.goto(at("#/table"));
	await stranger.waitForSelector(READY.table);
	expect(stranger.url()).not.toContain(token);
	for (const one of [page, again.page, stranger]) await one.context().close();
});

test("a browser that is started comes by a private file and leaves nothing to use again", async () => {
	const runtime = mkdtempSync(join(FOLDER, "runtime-"));
	const told = join(FOLDER, "browser-argument");
	const browserScript = join(FOLDER, "browser.sh");
	writeFileSync(browserScript, `#!/bin/sh\nprintf %s "$*" > ${told}.new && mv ${told}.new ${told}\n`, { mode: 0o755 });
	const env = { ...process.env, BROWSER: browserScript, XDG_RUNTIME_DIR: runtime };
	for (const name of ["SSH_CONNECTION", "WSL_DISTRO_NAME", "REMOTE_CONTAINERS", "CODESPACES"]) delete (env as Record<string, string>)[name];
	const view = spawn(LEADLINE, ["view", ORDERS], { stdio: ["ignore", "ignore", "ignore"], env });
	await expect.poll(() => existsSync(told), { timeout: PATIENCE_MS }).toBe(true);
	const argument = readFileSync(told, "utf-8");
	expect(argument).toMatch(/^file:\/\/\S+\.html$/);
	const code = /#code=([\w-]+)/.exec(readFileSync(new URL(argument), "utf-8"))?.[1] ?? "";
	expect(code).toMatch(/^[\w-]{32}$/);
	const page = await browser.newPage();
	page.setDefaultTimeout(PATIENCE_MS);
	await page.goto(argument);
	await page.waitForSelector(READY.overview);
	expect(page.url()).not.toContain(code);
	await expect.poll(() => readdirSync(runtime), { timeout: PATIENCE_MS }).toEqual([]);
	await page.reload();
	await page.waitForSelector(READY.overview);
	const late = await browser.newPage();
	await late.goto(new URL(`#code=${code}`, page.url()).href);
	await late.waitForSelector(".notice >> text=lacks the token");
	await late.context().close();
	await page.context().close();
	const ended = new Promise((done) => view.on("exit", done));
	view.kill("SIGTERM");
	expect(await ended).toBe(0);
});

test("every view of a damaged recording says so, light and dark, and so does one file of it", async () => {
	const cut = join(FOLDER, "cut.lead");
	const file = join(FOLDER, "cut.html");
	writeFileSync(cut, readFileSync(ORDERS).subarray(0, -1000));
	tool("view", cut, ORDERS, "-o", file);
	const one = await serve(cut, ORDERS);
	for (const url of [one.url, `file://${file}`]) {
		const { page, errors } = await open(browser, url);
		for (const colorScheme of ["light", "dark"] as const) {
			await page.emulateMedia({ colorScheme });
			for (const name of ["overview", "flame", "table", "diff"]) {
				await go(page, `#/${name}`);
				await page.waitForSelector(`.view-${name} ${READY[name]}`);
				expect(await page.locator(".damage p").allTextContents()).toEqual([expect.stringMatching(/^cut\.lead is damaged: .*cut off.*\.$/)]);
			}
			expect(await seriousIn(page, colorScheme === "dark")).toEqual([]);
		}
		await page.setViewportSize({ width: 360, height: 740 });
		expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
		await go(page, "#/table?r=1");
		await page.waitForSelector(".damage", { state: "detached" });
		expect(errors).toEqual([]);
		await page.context().close();
	}
	await one.stop();
});

test("what was counted without a clock shows how often, and says what was not recorded", async () => {
	const counted = join(DATA, "counted.lead");
	const file = join(FOLDER, "counted.html");
	tool("view", counted, "-o", file);
	const one = await serve(counted);
	const all: { functions: { name: string; calls: number }[]; lines: { file: string; line: number; hits: number }[] } = report(counted, "--limit=0", "--lines");
	const calls = all.functions.map((row) => row.calls).sort((a, b) => b - a);
	const hits = new Map(all.lines.filter((row) => row.file.endsWith("/words.py")).map((row) => [row.line, row.hits]));
	expect([calls[0], hits.get(10), hits.get(5)]).toEqual([800, 950, 800]);
	for (const url of [one.url, `file://${file}`]) {
		const { page, errors } = await open(browser, url);
		await page.waitForSelector(".tops.counts button");
		const tops = (label: string) => page.$$eval(`ol[aria-label="${label}"] button`, (found) => found.map((one) => Number((one as HTMLElement).dataset.count)));
		expect(await tops("functions by calls")).toEqual(calls.slice(0, 12));
		await expect.poll(async () => (await tops("lines by hits"))[0], { timeout: PATIENCE_MS }).toBe(950);
		await page.waitForSelector("code >> text=leadline run --trace SCRIPT.py");
		await page.waitForSelector(".answer button >> text=is_vowel");
		expect(await page.textContent("main")).not.toMatch(/\b0\u00a0s\b/);
		expect(await page.$$eval(".tabs a", (found) => found.map((a) => a.textContent))).toEqual(["Overview", "Source", "Timeline", "Table"]);
		expect(await seriousIn(page, false)).toEqual([]);
		await go(page, "#/table");
		const shown = () => page.$$eval(".grid tbody tr", (rows) => rows.map((row) => Number(row.querySelector<HTMLElement>("td.num")?.dataset.value)));
		await expect.poll(shown, { timeout: PATIENCE_MS }).toEqual(calls);
		expect(await page.$$eval(".grid thead th", (heads) => heads.map((th) => th.textContent))).not.toContain("self (s)");
		await go(page, "#/source");
		await page.waitForSelector(".listing tr.measured");
		const line = page.locator('.listing tr[data-line="10"] td.heat');
		expect([await line.getAttribute("data-value"), (await line.getAttribute("style"))?.includes("background")]).toEqual(["950", true]);
		await page.setViewportSize({ width: 360, height: 740 });
		expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
		expect(errors).toEqual([]);
		await page.context().close();
	}
	await one.stop();
});

test("recorded allocations are shown in bytes, as report says them", async () => {
	const memory = join(DATA, "memory.lead");
	const one = await serve(memory, ORDERS);
	const { page, errors } = await open(browser, one.url);
	const choice = page.getByLabel("time or memory");
	await choice.waitFor();
	await go(page, "#/flame");
	for (const view of ["peak", "growth", "leaks", "churn"]) {
		const said = report(`--memory=${view}`, memory).allocations.views[0];
		await choice.selectOption(view);
		await go(page, `#/table?memory=${view}`);
		const rows = () => page.$$eval(".grid tbody tr", (found) => found.map((row) => Number(row.querySelector<HTMLElement>("td.num")?.dataset.value)));
		await expect.poll(async () => (await rows())[0], { timeout: PATIENCE_MS }).toBeCloseTo(said.functions[0].self, 0);
		await go(page, `#/flame?memory=${view}`);
		await page.waitForSelector(`.view-flame ${READY.flame}`);
	}
	expect(await seriousIn(page, false)).toEqual([]);
	await go(page, "#/timeline?memory=churn"); // stays of time
	await page.waitForSelector(`.view-timeline ${READY.timeline}`);
	await page.getByRole("button", { name: "remove instead of time all memory allocated" }).click();
	await expect.poll(() => page.evaluate(() => location.hash), { timeout: PATIENCE_MS }).not.toContain("memory");
	await go(page, "#/flame?r=1"); // of another recording nobody asks
	await choice.waitFor({ state: "detached" });
	expect(errors).toEqual([]);
	await page.context().close();
	await one.stop();
});

test("the page ends the server, and says when there is none", async () => {
	const one = await serve(ORDERS);
	const { page } = await open(browser, one.url);
	const ended = new Promise((done) => one.process.on("close", done));
	await page.keyboard.press("?");
	await page.locator("dialog button", { hasText: "stop leadline view" }).click();
	expect(await ended).toBe(0);
	await page.waitForSelector("dialog >> text=Stopped");
	await page.keyboard.press("Escape");
	await page.locator(".tabs a", { hasText: "Graph" }).click();
	await page.waitForSelector(".notice >> text=leadline view");
	await page.context().close();
});
