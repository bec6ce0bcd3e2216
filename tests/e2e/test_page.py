"""The page of `leadline view` in Debian's Chromium: ui/e2e, run by Vitest."""
import os
import shutil
import subprocess

import conftest
import pytest

UI = conftest.ROOT / "ui"


def test_the_page_in_a_browser(binary):
    if not (UI / "node_modules" / "playwright-core").exists() or not shutil.which("chromium"):
        pytest.skip("no npm packages or no Chromium: tools/setup test")
    done = subprocess.run([UI / "node_modules" / ".bin" / "vitest", "run", "--dir", "e2e", "--testTimeout=300000", "--hookTimeout=300000"],
                          cwd=UI, env={**os.environ, "LEADLINE": binary, "NO_COLOR": "1"}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
