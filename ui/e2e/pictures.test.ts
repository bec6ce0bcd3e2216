// SPDX-License-Identifier: MIT
// The pictures of the guide: real recordings of the examples, looked at in Chromium. Written only when asked for
// (make pictures); otherwise nothing happens here.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DATA, FOLDER, launch, link, open, READY, serve, Server, tool } from "./help";

const TO = process.env.LEADLINE_PICTURES;
const EXAMPLES = resolve(__dirname, "../../examples");
/** Beyond it a picture is too large for a guide. */
const MOST_BYTES = 120000;

let browser: Browser;
let server: Server;

/** A recording of a script, by the name it has on the page. */
function recorded(name: string, script: string, ...args: string[]): string {
	const file = join(FOLDER, name);
	tool("run", "-o", file, script, ...args);
	return file;
}

/** Two versions of a program: the second looks each word up in a set, not in a list. */
function versions(): string[] {
	return ["list", "set"].map((kind) => {
		mkdirSync(join(FOLDER, kind));
		const script = join(FOLDER, kind, "words.py");
		writeFileSync(script, [
			"import json", "", `KNOWN = ${kind}(f'word{i}' for i in range(1500))`, "", "def is_known(word):", "    return word in KNOWN", "", "def clean(text):",
			"    return [word for word in text.split() if is_known(word)]", "", "def store(words):", "    return json.dumps(words)", "", "def main():",
			"    text = ' '.join(f'word{i * 7 % 3000}' for i in range(3000))", "    for _ in range(25):", "        store(clean(text) * 20)", "", "main()", "",
		].join("\n"));
		return recorded(`${kind}.lead`, script);
	});
}

function results(): string[] {
	return ["before", "after"].map((name, i) => {
		const file = join(FOLDER, `${name}.json`);
		tool("bench", `--json=${file}`, "-s", `known = ${i ? "set" : "list"}(range(300))`, "sum(i in known for i in range(600))", "[i for i in range(600) if i % 3]");
		return file;
	});
}

beforeAll(async () => {
	if (!TO) return;
	mkdirSync(TO, { recursive: true });
	browser = await launch();
	server = await serve(recorded("net.lead", join(EXAMPLES, "two_layer_net_pure.py"), "0.2"), recorded("threads.lead", join(EXAMPLES, "threads_gil.py"), "0.3"), ...versions(), join(DATA, "torch/h200_conv.pt.trace.json.gz"), ...results());
});

afterAll(async () => {
	await browser?.close();
	await server?.stop();
});

async function shoot(page: Page, name: string): Promise<void> {
	const session = await page.context().newCDPSession(page);
	const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 78 });
	const bytes = Buffer.from(data, "base64");
	expect([name, bytes.length < MOST_BYTES]).toEqual([name, true]);
	writeFileSync(join(TO as string, `${name}.webp`), bytes);
}

/** name of the picture, place of the page, what it must show, and the theme */
const PICTURES: [string, string, string, "light" | "dark"][] = [
	["overview", "#/overview", READY.overview, "light"],
	["flame", "#/flame?onlyMine=1", READY.flame, "light"],
	["icicle-dark", "#/flame?style=icicle&q=mat", READY.flame, "dark"],
	["sunburst", "#/flame?style=sunburst&onlyMine=1", READY.flame, "light"],
	["table", "#/table", READY.table, "light"],
	["graph", "#/graph?onlyMine=1", READY.graph, "light"],
	["source", "#/source?line=30&open=30", READY.source, "light"],
	["timeline", "#/timeline?r=1", READY.timeline, "light"],
	["diff", "#/diff?r=2&with=3", READY.diff, "light"],
	["torch", "#/torch?r=4", ".torchview .advice", "light"],
	["torch-timeline", "#/torch?r=4&pane=timeline&win=0.0049-0.0063&event=352", ".drawer .neighbours", "light"],
	["bench", "#/bench", READY.bench, "light"],
];

test.runIf(TO)("every view is pictured", async () => {
	const { page, errors } = await open(browser, server.url, { viewport: { width: 1200, height: 720 } });
	for (const [name, hash, ready, colorScheme] of PICTURES) {
		await page.emulateMedia({ colorScheme });
		// From an empty page, or the new address would only change the hash, and the page would load itself again meanwhile.
		await page.goto("about:blank");
		await page.goto(link(server, hash));
		await page.waitForSelector(ready);
		if (name === "source") {
			await page.waitForSelector(".grid.ops tbody tr");
			// Where the project lies on this machine is nobody's business.
			await page.evaluate(() => document.querySelector<HTMLElement>(".sourceview .path")?.style.setProperty("display", "none"));
		}
		if (name === "table") {
			await page.locator(".grid td.code button").first().click();
			await page.waitForSelector(".drawer .spark svg");
		}
		await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
		await shoot(page, name);
	}
	expect(errors).toEqual([]);
	const { page: narrow } = await open(browser, server.url, { viewport: { width: 360, height: 740 } });
	await narrow.waitForSelector(READY.overview);
	await shoot(narrow, "phone");
});
