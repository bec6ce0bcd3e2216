// SPDX-License-Identifier: MIT
// Starts the page: answers come from the server whose token the address brings, or from the data in the page.
import { render } from "preact";
import { App } from "./app";
import { decode, embeddedSource } from "./api/embedded";
import { DataSource, serverSource } from "./api/source";
import { arrivalOf, takeToken } from "./api/token";
import { Notice } from "./parts/states";
import { Store, StoreContext } from "./store";

async function findSource(): Promise<DataSource> {
	const data = document.getElementById("leadline-data");
	if (data) return embeddedSource(await decode(data.textContent ?? ""));
	// The whole address put into a tab that shows the page changes nothing but what follows "#".
	addEventListener("hashchange", () => arrivalOf(location.hash) && location.reload());
	const base = new URL(".", location.href);
	return serverSource(await takeToken(base), base);
}

function restoreTheme(): void {
	try {
		const theme = localStorage.getItem("leadline-theme");
		if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
	} catch {
		// No storage: the system's theme.
	}
}

async function start(): Promise<void> {
	const root = document.getElementById("page") as HTMLElement;
	root.replaceChildren();
	restoreTheme();
	try {
		const store = new Store(await findSource());
		render(
			<StoreContext.Provider value={store}>
				<App />
			</StoreContext.Provider>,
			root,
		);
	} catch {
		render(<Notice title="Cannot read the data in this page" text="The file may be truncated. Write it again: leadline view FILE -o page.html" />, root);
	}
}

void start();
