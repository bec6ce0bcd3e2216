#!/usr/bin/env python3
"""Builds the page of `leadline view` into one file: bundles ui/src with esbuild, puts script and style into index.html.

    tools/build_page.py OUTPUT

Where the packages of ui/package-lock.json are not there (tools/setup puts them into ui/node_modules), the page says so
instead: everything else of the tool works without them.
"""
import pathlib
import platform
import subprocess
import sys

UI = pathlib.Path(__file__).resolve().parent.parent / "ui"
MACHINES = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}
MISSING = """<main class="alone"><h1>leadline</h1><p>This build of leadline has no page: the packages to make it were not there.
Install npm, run tools/setup build and then make build. The same figures are in the terminal: leadline report FILE</p></main>"""


def esbuild():
    """The compiler itself; its npm wrapper would need a start of node more."""
    name = MACHINES.get(platform.machine(), "")
    path = UI / "node_modules" / "@esbuild" / name / "bin" / "esbuild"
    return path if name and path.exists() else None


def bundle(compiler, entry, *options):
    command = [compiler, UI / "src" / entry, "--bundle", "--minify", "--target=es2022,chrome110,firefox113,safari16.4", "--charset=utf8",
               "--log-level=warning", "--legal-comments=none", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=UI).stdout


def main():
    template = (UI / "src" / "index.html").read_text(encoding="utf-8")
    compiler = esbuild()
    if compiler is None or not (UI / "node_modules" / "preact").exists():
        print("build_page: no npm packages, so the page will only say so (tools/setup build)", file=sys.stderr)
        page = template.replace("@STYLE@", "").replace("@SCRIPT@", "").replace('<div id="page">', f'<div id="page">{MISSING}')
    else:
        try:
            script = bundle(compiler, "main.tsx", "--format=iife", "--jsx=automatic", "--jsx-import-source=preact")
            style = bundle(compiler, "style.css")
        except subprocess.CalledProcessError as failed:
            sys.exit(f"build_page: {failed.stderr}")
        page = template.replace("@STYLE@", style).replace("@SCRIPT@", script)
    pathlib.Path(sys.argv[1]).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
