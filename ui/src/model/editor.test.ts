// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { editorLink } from "./editor";

test("a link names the file and the line, whatever is in the name", () => {
	expect(editorLink("vscode://file{file}:{line}", "/a b/c&d=#.py", 7)).toBe("vscode://file/a%20b/c%26d%3D%23.py:7");
	expect(editorLink("pycharm://open?file={file}&line={line}", "/x.py", null)).toBe("pycharm://open?file=/x.py&line=1");
});

test("there is none without an editor, a path from the root, or to a script", () => {
	expect([editorLink("", "/x.py", 1), editorLink(undefined, "/x.py", 1), editorLink("a:{file}", "<string>", 1), editorLink("a:{file}", null, 1), editorLink("JavaScript:{file}", "/x", 1)]).toEqual(["", "", "", "", ""]);
});
