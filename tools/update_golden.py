"""Rewrites tests/golden/*.txt from what build/leadline prints now. Read the diff before committing it."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "golden")]

import test_golden  # noqa: E402

for name, arguments in test_golden.CASES.items():
    path = test_golden.HERE / f"{name}.txt"
    text = test_golden.output(arguments)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        print(f"updated {path.relative_to(ROOT)}")
