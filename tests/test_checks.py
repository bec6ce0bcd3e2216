"""The checks of `make check` can fail: a small project that is in order, spoiled in one place at a time.

And two promises of the documents that only the built tool can prove: the worked example of docs/FORMAT.md and
the shares in the JSON of leadline-time(1).
"""
import re
import struct
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import check_docs  # noqa: E402
import check_layers  # noqa: E402

# ---- check_docs: a project in order --------------------------------------------------------------------------

SECTIONS = "\n".join(f"## {name}\n\ntext\n" for name in ("EXIT STATUS", "EXAMPLES", "SEE ALSO"))
FAKE = {
    "build/leadline": r"""#!/bin/sh
case "$2" in
"") printf 'leadline: what it is\n\n  leadline COMMAND [options]\n\nWhy?\n  time       Run it\n  show       Show it\n'
    printf "\nHelp\n  help       Tell\n\n'leadline help COMMAND' shows\n  bound exit\n" ;;
time) printf 'leadline time [options] CMD\n\nRun it.\n\nOptions\n  -o, --output=FILE  keep it\n'
      printf '      --json[=FILE]  print JSON, as\n                     --output does\n  -n N               times\n'
      printf '\nExamples\n  leadline time --bogus\n' ;;
*) printf 'leadline %s\n\nDo it.\n' "$2" ;;
esac
""",
    "README.md": """# Project

| command | answers |
|---|---|
| `leadline time CMD` | a |
| `leadline show FILE` | b |
| `leadline help` | c |

See [the format](docs/FORMAT.md#file-head), [elsewhere](https://example.org/x), and `[not](a-link)`.
""",
    "docs/man/leadline.1.md": f"""## NAME

## SYNOPSIS

## DESCRIPTION

| command | does |
|---|---|
| [leadline-time](leadline-time.1.md)(1) | a |
| [leadline-show](leadline-show.1.md)(1) | b |
| leadline-help(1) | c |

## OPTIONS

**-h**, **--help**
:   Help.

{SECTIONS}""",
    "docs/man/leadline-time.1.md": f"""## NAME

## SYNOPSIS

**leadline time** [*options*]

## DESCRIPTION

Elsewhere `docker run --cap-add X leadline time --json` is another's option.
The largest share, if it is at least 50 % of the
time and at least 1.5 times the next one.

## OPTIONS

**-o**, **--output** *FILE*
:   Keep it.

**--json**[=*FILE*]
:   Print it.

**-n** *N*
:   Times.

{SECTIONS}""",
    "docs/man/leadline-show.1.md":
        f"## NAME\n\n## SYNOPSIS\n\n**leadline show**\n\n## DESCRIPTION\n\n## OPTIONS\n\n{SECTIONS}",
    "docs/man/leadline-help.1.md":
        f"## NAME\n\n## SYNOPSIS\n\n**leadline help**\n\n## DESCRIPTION\n\n## OPTIONS\n\n{SECTIONS}",
    "src/cmd/main.c": 'if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)\n\treturn 0;\n',
    "src/analyze/host/bound.h": "#define BOUND_SHARE 0.5\n#define BOUND_LEAD  1.5\n",
    "src/wire/records.def": """/* RECORD(99, comment, DATA) */
RECORD(1, string, TABLE)
\tCOL(bytes, text, BYTES, none, KEY) /* the text */
END_RECORD(string)
RECORD(20, life, DATA)
\tCOL(u64, t_ns, TIME, none, __)
\tCOL(u32, command, PLAIN, string, __)
END_RECORD(life)
RESERVED(34, task) /* later */
""",
    "src/wire/records.h": """enum record_role { RECORD_TABLE, RECORD_DATA };
enum column_encoding { ENCODING_PLAIN, ENCODING_TIME, ENCODING_BYTES };
enum life_event {
\tLIFE_START, /* first, or (only) */
\tLIFE_EXEC,
};
enum state { STATE_A = 1 << 0, STATE_B = 1 << 1 };
""",
    "src/store/container.h": """enum {
\tSTORE_MAJOR = 1, /* readers */
\tSTORE_MINOR = 0,
\tCHUNK_MAGIC = 0x4b43444c,
};
enum chunk_codec { CODEC_PLAIN, CODEC_ZSTD };
struct file_head {
\tchar magic[8];
\tuint16_t major, minor;
\tuint64_t checksum; /* after four bytes that alignment leaves out */
};
struct chunk_head {
\tuint32_t magic;
};
""",
    "src/store/columns.h": "enum {\n\tCOLUMNS_MAX_RECORDS = 1 << 16,\n\tCOLUMNS_MAX_VALUE = 100,\n};\n",
    "docs/FORMAT.md": """# Format

## File head

`struct file_head`, 24 bytes, at byte 0.

| offset | bytes | field | type | meaning |
|---|---|---|---|---|
| 0 | 8 | `magic` | char[8] | letters |
| 8 | 2 | `major` | u16 | 1; refused |
| 10 | 2 | `minor` | u16 | 0; accepted |
| 16 | 8 | `checksum` | u64 | of the rest |

`struct chunk_head`, 4 bytes.

| offset | bytes | field | type | meaning |
|---|---|---|---|---|
| 0 | 4 | `magic` | u32 | 0x4b43444c: letters |

`enum chunk_codec`:

| value | name | meaning |
|---|---|---|
| 0 | `CODEC_PLAIN` | a |
| 1 | `CODEC_ZSTD` | b |

| encoding | stream |
|---|---|
| PLAIN | a |
| TIME | b |
| BYTES | c |

| limit | value | of |
|---|---|---|
| `COLUMNS_MAX_RECORDS` | 65536 | a |
| `COLUMNS_MAX_VALUE` | 100 | b |

### 1 `string` (table)

| column | type | encoding | refers to | key | meaning |
|---|---|---|---|---|---|
| `text` | bytes | BYTES |  | KEY | a |

### 20 `life` (data)

| column | type | encoding | refers to | key | meaning |
|---|---|---|---|---|---|
| `t_ns` | u64 | TIME |  |  | a |
| `command` | u32 | PLAIN | string |  | as `enum life_event` |

### Reserved

| id | name | for |
|---|---|---|
| 34 | `task` | a |

## Values

`enum life_event`, column `event`:

| value | name | meaning |
|---|---|---|
| 0 | `LIFE_START` | a |
| 1 | `LIFE_EXEC` | b |

`enum state`:

| value | name | meaning |
|---|---|---|
| 1 | `STATE_A` | a |
| 2 | `STATE_B` | b |
""",
    "src/wire/session_layout.h": "enum {\n\tSESSION_VERSION = 7,\n};\n",
    "src/wire/agent_options.h": """enum agent_calls {
\tAGENT_CALLS_NONE,
\tAGENT_CALLS_TIMED,
};

enum { AGENT_MOST = 100 };

struct agent_options {
\tuint8_t calls; /* enum agent_calls */
\tuint32_t min_ns;
\tuint8_t reserved[4]; /* 0 */
};
""",
    "docs/SESSION.md": """# Session

`struct agent_options`, 12 bytes, of version 7.

| offset | bytes | field | type | asks for |
|---|---|---|---|---|
| 0 | 1 | `calls` | u8 | a |
| 4 | 4 | `min_ns` | u32 | b |
| 8 | 4 | `reserved` | u8[4] | c |

`enum agent_calls`:

| value | name | meaning |
|---|---|---|
| 0 | `AGENT_CALLS_NONE` | a |
| 1 | `AGENT_CALLS_TIMED` | b |
""",
    "docs/ARCHITECTURE.md": """# Architecture

| folder | may include |
|---|---|
| `base` | nothing |
| `wire` | nothing |
| `store` | base, wire (and libzstd) |
| `analyze` | store |
| `cmd` | everything |

**src/wire** is one paragraph, and mentions
`src/store` and src/cmd only inside it.

- `src/store/`: another.

### src/analyze

**`src/cmd`**: the last.
""",
    "docs/JSON.md": "### row\n| key | type | unit | meaning |\n|---|---|---|---|\n| `name` | text |  | what it is |\n",
    "docs/PAGE-API.md": "### api/table\n| key | type | unit | meaning |\n|---|---|---|---|\n| `rows` | list of [row](JSON.md#row) |  | all |\n",
    "docs/decisions/0001-first.md": "# First\n",
    "docs/decisions/0002-second.md": "# Second\n",
}
LAYERS = {"base": set(), "wire": set(), "store": {"base", "wire"}, "analyze": {"store"}, "cmd": None}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setattr(check_docs, "ALLOWED", LAYERS)
    for name, text in FAKE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "build" / "leadline").chmod(0o755)
    return tmp_path


def docs_problems(project):
    return list(check_docs.problems(project, project / "build" / "leadline"))


def test_docs_in_order_pass(project):
    assert docs_problems(project) == []


TIME, FORMAT, MAP = "docs/man/leadline-time.1.md", "docs/FORMAT.md", "docs/ARCHITECTURE.md"
SPOILED = [  # file, what is there, what comes in its place, what is said
    # manual: the code gained something, the page gained something, the page is not as it should be
    ("build/leadline", "  -o, --output=FILE  keep it", "  -q, --quiet\\n  -o, --output=FILE  x",
     f"{TIME}.*misses '-q, --quiet'"),
    ("build/leadline", "Help\\n", "Help\\n  bench      Time it\\n", r"leadline-bench.1.md: is missing"),
    ("build/leadline", "Help\\n", "Help\\n  bench      Time it\\n", r"README.md: table of commands: misses 'bench'"),
    ("build/leadline", "Help\\n", "Help\\n  bench      Time it\\n", r"leadline.1.md: table .* misses 'bench'"),
    ("build/leadline", "  show       Show it\\n", "", r"leadline-show.1.md: there is no such command"),
    ("README.md", "leadline show FILE", "leadline tell FILE", "README.md.*tells 'tell', which the code does not have"),
    (TIME, "**-o**, **--output**", "**--output**", "misses '-o, --output FILE'"),
    (TIME, "--output** *FILE*", "--output** *NAME*", "tells '-o, --output NAME'"),
    (TIME, "**--json**[=*FILE*]", "**--json** *FILE*", r"misses '--json\[=FILE\]'"),
    (TIME, "**-n** *N*\n:   Times.\n", "", "misses '-n N'"),
    (TIME, ":   Print it.", ":   Print it.\n\n**--old**\n:   Gone.", "tells '--old', which the code does not have"),
    (TIME, "Keep it.", "Keep it, as `--keep` does.", "mentions --keep, which no command has"),
    (TIME, "Keep it.", "Keep it, see **leadline time --keep**.", "mentions --keep, which no command has"),
    (TIME, "Keep it.", "Keep it.\n\n    leadline time --keep 5", "mentions --keep, which no command has"),
    (TIME, "## EXAMPLES", "## SAMPLES", "sections: misses 'EXAMPLES'"),
    (TIME, "## NAME\n\n## SYNOPSIS", "## SYNOPSIS\n\n## NAME", "sections: is in another order"),
    (TIME, "**leadline time**", "**leadline**", r"does not name \*\*leadline time\*\*"),
    ("src/cmd/main.c", "return 0;", 'return 0;\nif (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)',
     "leadline.1.md: options: misses '-V, --version'"),
    # format: each thing that a record, a head or a list says
    ("src/wire/records.def", "RECORD(20, life, DATA)", "RECORD(21, life, DATA)", r"misses '21 life \(data\)'"),
    ("src/wire/records.def", "RECORD(1, string, TABLE)", "RECORD(1, string, DATA)", r"misses '1 string \(data\)'"),
    ("src/wire/records.def", "END_RECORD(life)", "\tCOL(u8, event, PLAIN, none, __)\nEND_RECORD(life)",
     "record life: misses 'u8 event PLAIN'"),
    ("src/wire/records.def", "COL(u64, t_ns, TIME", "COL(u32, t_ns, TIME", "misses 'u32 t_ns TIME'"),
    ("src/wire/records.def", "t_ns, TIME", "t_ns, DELTA", "misses 'u64 t_ns DELTA'"),
    ("src/wire/records.def", "PLAIN, string, __", "PLAIN, none, __", "tells 'u32 command PLAIN to string'"),
    ("src/wire/records.def", "BYTES, none, KEY", "BYTES, none, __", "tells 'bytes text BYTES KEY'"),
    ("src/wire/records.def", "RESERVED(34, task)", "RESERVED(35, task)", "reserved ids: misses '35 task'"),
    (FORMAT, "| `command` | u32 | PLAIN | string |  | as `enum life_event` |\n", "", "misses 'u32 command PLAIN"),
    (FORMAT, "### Reserved", "### 21 `ghost` (data)\n\n### Reserved", r"tells '21 ghost \(data\)'"),
    (FORMAT, "| `t_ns` | u64 | TIME |  |  | a |", "| `t_ns` | u64 | TIME |  |  |  |", "without a meaning"),
    (FORMAT, "| `t_ns` | u64 | TIME |  |  | a |\n| `command` | u32 | PLAIN | string |  | as `enum life_event` |",
     "| `command` | u32 | PLAIN | string |  | a |\n| `t_ns` | u64 | TIME |  |  | a |",
     "record life: is in another order"),
    ("src/store/container.h", "uint64_t checksum;", "uint32_t flags;\n\tuint64_t checksum;",
     "struct file_head: misses '12 4 flags u32'"),
    ("src/store/container.h", "magic[8]", "magic[4]", "struct file_head: misses '16 bytes'"),
    (FORMAT, "`, 24 bytes", "`, 20 bytes", "struct file_head: misses '24 bytes'"),
    (FORMAT, "| 8 | 2 | `major`", "| 8 | 4 | `major`", "struct file_head: misses '8 2 major u16'"),
    ("src/store/container.h", "CODEC_ZSTD", "CODEC_LZ4, CODEC_ZSTD", "enum chunk_codec: misses '1 CODEC_LZ4'"),
    ("src/wire/records.h", "LIFE_EXEC,", "LIFE_EXEC,\n\tLIFE_END,", "enum life_event: misses '2 LIFE_END'"),
    ("src/wire/records.h", "1 << 1", "1 << 2", "enum state: misses '4 STATE_B'"),
    (FORMAT, "`enum state`:", "`enum mood`:", "tells enum mood"),
    ("src/wire/records.h", "ENCODING_BYTES", "ENCODING_BYTES, ENCODING_RAW", "encodings: misses 'RAW'"),
    ("src/store/columns.h", "1 << 16", "1 << 17", "limits: misses '131072 COLUMNS_MAX_RECORDS'"),
    # session
    ("src/wire/agent_options.h", "min_ns;\n", "min_ns;\n\tuint8_t wants_more;\n", "SESSION.md.* misses '8 1 wants_more u8'"),
    ("src/wire/agent_options.h", "AGENT_CALLS_TIMED,", "AGENT_CALLS_COUNTED,", "enum agent_calls: misses '1 AGENT_CALLS_COUNTED'"),
    ("docs/SESSION.md", "| 4 | 4 | `min_ns`", "| 1 | 4 | `min_ns`", "struct agent_options: misses '4 4 min_ns u32'"),
    ("src/wire/session_layout.h", "= 7", "= 8", "docs/SESSION.md: does not say 'of version 8'"),
    # architecture
    (MAP, "| `store` | base, wire (and libzstd) |", "| `store` | base |", "layer table: misses 'store: base, wire'"),
    (MAP, "| `wire` | nothing |\n", "", "layer table: misses 'wire: nothing'"),
    (MAP, "| `cmd` | everything |", "| `cmd` | everything |\n| `extra` | base |", "layer table: tells 'extra: base'"),
    (MAP, "- `src/store/`: another.\n", "", r"paragraphs that start with src/…: misses 'store'"),
    (MAP, "### src/analyze", "### src/analyze\n\n### src/ghost", "paragraphs .* tells 'ghost'"),
    (MAP, "### src/analyze", "### src/analyze\n\n### src/analyze", "paragraphs .* tells something twice"),
    # facts
    ("src/analyze/host/bound.h", "0.5", "0.6", "leadline-time.1.md: does not say 'at least 60 % of the time'"),
    ("src/analyze/host/bound.h", "BOUND_LEAD", "BOUND_AHEAD", "src/analyze/host/bound.h: holds nothing like"),
    ("src/store/container.h", "STORE_MAJOR = 1", "STORE_MAJOR = 2", r"does not say '`major` \| u16 \| 2;'"),
    ("src/store/container.h", "0x4b43444c", "0x4b43444d", "does not say .*0x4b43444d"),
    # links
    ("README.md", "docs/FORMAT.md#", "docs/FORMATS.md#", "README.md: the link docs/FORMATS.md#file-head leads nowhere"),
    ("README.md", "#file-head", "#file-tail", "the link docs/FORMAT.md#file-tail names a heading that is not there"),
    ("README.md", "https://example.org/x", "../x", "the link ../x leads out of the project"),
    ("docs/decisions/0001-first.md", "# First", "[one](0003-third.md)", "0001-first.md: the link 0003-third.md leads"),
    ("docs/decisions/0001-first.md", "# First", "[one]\n\n[one]: x.md\n", "the link x.md leads nowhere"),
]


@pytest.mark.parametrize("file, old, new, said", SPOILED, ids=[f"{i}-{s[3][:40]}" for i, s in enumerate(SPOILED)])
def test_docs_spoiled_in_one_place(project, file, old, new, said):
    text = (project / file).read_text()
    assert old in text, "the case no longer spoils anything"
    (project / file).write_text(text.replace(old, new, 1))
    found = docs_problems(project)
    assert any(re.search(said, line) for line in found), found


@pytest.mark.parametrize("missing", ["build/leadline", "docs/FORMAT.md", "docs/SESSION.md", "docs/ARCHITECTURE.md",
                                     "docs/man/leadline.1.md", "docs/man/leadline-time.1.md"])
def test_docs_missing(project, missing):
    (project / missing).unlink()
    assert any(re.search(rf"{missing}\S* is missing", line) for line in docs_problems(project))


@pytest.mark.parametrize("name, said", [("0002-other.md", "has the number of"), ("2-other.md", "is not called"),
                                        ("0003_other.md", "is not called"), ("0003-Other.txt", "is not called")])
def test_docs_decision_numbers(project, name, said):
    (project / "docs" / "decisions" / name).write_text("# Other\n")
    assert any(said in line for line in docs_problems(project))


def test_docs_main_says_it_and_fails(project, monkeypatch, capsys):
    monkeypatch.setattr(check_docs, "__file__", str(project / "tools" / "check_docs.py"))
    monkeypatch.setenv("LEADLINE", str(project / "build" / "leadline"))
    assert check_docs.main() == 0
    assert capsys.readouterr().out.startswith("docs: 12 pages agree")
    (project / FORMAT).unlink()
    assert check_docs.main() == 1
    assert "check_docs: docs/FORMAT.md: is missing\n" in capsys.readouterr().err


# ---- check_layers --------------------------------------------------------------------------------------------


def layer_problems(tmp_path, **files):
    """Problems of a src/ with these files; `base__x_c` is base/x.c."""
    for name, text in files.items():
        folder, _, rest = name.partition("__")
        stem, _, suffix = rest.rpartition("_")
        path = tmp_path / "src" / folder / f"{stem}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(check_layers.problems(tmp_path / "src"))


@pytest.mark.parametrize("files", [
    {"store__a_c": '#include "base/buf.h"\n#include "store/b.h"\n#include <zstd.h>\n'},
    {"cmd__a_c": '#include "view/x.h"\nvoid f(void) { printf("x"); exit(1); }\n'},
    {"view__a_test_c": '#include "store/x.h"\nvoid f(void) { printf("x"); }\n'},
    {"view__a_rig_h": '#include "store/x.h"\n'},
    {"agent/core__compat_h": "#if PY_VERSION_HEX >= 0x030c0000\n#endif\n"},
    {"base__log_c": 'void f(void) { perror("x"); }\n'},
    {"json__a_c": "void rows_json(const struct rows *r, struct json_writer *w)\n{\n\tjson_key(w, key);\n}\n"},
    {"serve__a_c": "static void answer(struct json_writer *w)\n{\n\trows_json(r, w);\n\tjson_kv_u64(w, key, 1);\n}\n"},
    {"cmd__a_c": "void result_json(const struct result *r, struct buf *out)\n{\n\tstruct json_writer w;\n\n\trows_json(r, &w);\n}\n"},
    {"analyze/stats__a_c": '#include "base/x.h"\n#include "analyze/stats/b.h"\n'},
    {"analyze/stats__a_test_c": '#include "analyze/samples/x.h"\n'},
    {"analyze__recording_c": '#include "analyze/torch/x.h"\n', "view/torch__a_c": '#include "analyze/torch/x.h"\n'},
    {"advise/torch__a_c": '#include "analyze/torch/x.h"\n#include "advise/finding.h"\n', "view__a_c": '#include "advise/finding.h"\n', "serve__a_c": '#include "advise/pages.h"\n'},
    {"base__a_c": '/* calls exit(1) */\nconst char *s = "puts(x)";\nvoid f(void) { buf_printf(x); vfprintf(x); }\n'},
])
def test_layers_in_order_pass(tmp_path, files):
    assert layer_problems(tmp_path, **files) == []


@pytest.mark.parametrize("files, said", [
    ({"base__a_c": '#include "store/x.h"\n'}, "base/a.c: base may not include store/x.h"),
    ({"view__a_h": '#  include "store/x.h"\n'}, "view/a.h: view may not include store/x.h"),
    ({"wire__a_def": '#include "base/x.h"\n'}, "wire/a.def: wire may not include base/x.h"),
    ({"agent__a_c": '#include "base/x.h"\n'}, "agent/a.c: agent may not include base/x.h"),
    ({"analyze/stats__a_c": '#include "analyze/samples/x.h"\n'}, "analyze/stats/a.c: analyze/stats may not include analyze/samples/x.h"),
    ({"analyze/stats__a_c": '#include "store/x.h"\n'}, "analyze/stats/a.c: analyze/stats may not include store/x.h"),
    ({"analyze/diff__a_c": '#include "analyze/torch/x.h"\n'}, "analyze/diff/a.c: may not include analyze/torch/x.h; of analyze, only"),
    ({"analyze/torch__a_c": '#include "advise/finding.h"\n'}, "analyze/torch/a.c: analyze may not include advise/finding.h"),
    ({"formats__a_c": '#include "advise/finding.h"\n'}, "formats/a.c: formats may not include advise/finding.h"),
    ({"advise/torch__a_c": '#include "view/finding.h"\n'}, "advise/torch/a.c: advise may not include view/finding.h"),
    ({"store__a_c": '#include "b.h"\n'}, "store/a.c: includes b.h without its folder"),
    ({"utils__a_c": ""}, "utils/a.c: the folder utils is not in the layer table"),
    ({"agent__a_c": "#if PY_VERSION_HEX > 1\n#endif\n"}, "agent/a.c: interpreter versions are told apart in"),
    ({"store__a_c": 'void f(void) { printf("x"); }\n'}, "store/a.c: calls printf; only cmd/ talks to the user"),
    ({"sys__a_c": "void f(void) { exit (2); }\n"}, "sys/a.c: calls exit; only cmd/"),
    ({"view__a_c": 'void f(void)\n{\n\tjson_kv_u64(w, "n", 1);\n}\n'}, "view/a.c: writes JSON; view is for terminals"),
    ({"serve__a_c": "static void rows_json(\n\tconst struct rows *r, struct json_writer *w)\n{\n}\n"}, "serve/a.c: rows_json writes a result as JSON"),
])
def test_layers_spoiled(tmp_path, files, said):
    (found,) = layer_problems(tmp_path, **files)
    assert found.startswith(said)


def test_layers_main_says_it_and_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(check_layers, "__file__", str(tmp_path / "tools" / "check_layers.py"))
    layer_problems(tmp_path, base__a_c="")
    assert check_layers.main() == 0
    layer_problems(tmp_path, base__a_c='#include "cmd/x.h"\n')
    assert check_layers.main() == 1
    assert capsys.readouterr().err == "check_layers: base/a.c: base may not include cmd/x.h\n"


# ---- promises that need the tool -----------------------------------------------------------------------------


def example_bytes():
    """The two hex dumps of docs/FORMAT.md: the file head and a chunk."""
    page = (ROOT / "docs" / "FORMAT.md").read_text(encoding="utf-8")
    return [bytes.fromhex(dump) for dump in re.findall(r"^```hex\n(.*?)^```", page, re.MULTILINE | re.DOTALL)]


def varints(stream):
    values, value, shift = [], 0, 0
    for byte in stream:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


def test_format_example_decodes_as_told():
    head, chunk = example_bytes()
    assert (len(head), len(chunk)) == (56, 96)
    magic, kind, codec, _, stored, raw, segment, n, first, _, _ = struct.unpack_from("<4sHBBIIIIIIQ", chunk)
    assert (magic, kind, codec, stored, raw, segment, n, first) == (b"LDCK", 20, 0, 56, 56, 1, 4, 0)
    (count,) = struct.unpack_from("<I", chunk, 40)
    sizes = struct.unpack_from(f"<{count}I", chunk, 44)
    at, columns = 44 + 4 * count, []
    for size in sizes:
        columns.append(varints(chunk[at:at + size]))
        at += size
    assert at == len(chunk)
    steps = [value >> 1 ^ -(value & 1) for value in columns[0]]
    assert steps == [3084217495549, 554796, 828654, 525913]
    assert columns[1:] == [[1, 1, 2, 2], [0, 1, 0, 1], [0, 0, 0, 0], [0, 8, 0, 10]]
    xxhash = pytest.importorskip("xxhash")
    assert struct.unpack_from("<Q", head, 48)[0] == xxhash.xxh3_64_intdigest(head[:48])
    assert struct.unpack_from("<I", chunk, 28)[0] == xxhash.xxh3_64_intdigest(chunk[:28]) & 0xFFFFFFFF
    assert struct.unpack_from("<Q", chunk, 32)[0] == xxhash.xxh3_64_intdigest(chunk[40:])


def test_format_example_is_read_by_the_tool(tool, tmp_path):
    """Head and chunk alone are a recording that was cut off: nothing in it is damaged."""
    path = tmp_path / "example.lead"
    path.write_bytes(b"".join(example_bytes()))
    said = tool("report", path).stderr
    assert "the recorder did not finish" in said
    assert "damaged chunks" not in said and "could not be read" not in said
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert "could not be read" in tool("report", path).stderr
    path.write_bytes(whole[:-1] + b"\x0b")
    assert "damaged: 1 of 1 chunks could not be read (life)" in tool("report", path).stderr


def told_keys(page, heading):
    """Of the table under a heading: the keys of the first column, and for each the words in code beside it."""
    part = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in part.splitlines() if line.startswith("| `")]
    return {key: set(re.findall(r"`(\w+)`", beside)) for keys, beside in rows for key in re.findall(r"`(\w+)`", keys)}


def test_time_json_has_the_shares_of_its_page(tool):
    page = (ROOT / "docs" / "man" / "leadline-time.1.md").read_text(encoding="utf-8")
    assert set(told_keys(page, "WHAT A PROGRAM IS BOUND BY")) == set(tool.time_json("sleep", "0.2")["bound"]["shares"])
