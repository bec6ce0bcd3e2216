/* SPDX-License-Identifier: MIT
 * See habits.h. Alphabetical; of one tool those with a word first. */
#include "cmd/habits.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/banned.h"

const struct habit habits[] = {
	{ .names = "austin",
		.to = "run",
		.attaches = "attach",
		.same = "-o= --output= -p= --pid=",
		.example = "run -o out.folded script.py",
		.also = "-o out.folded writes collapsed stacks, as austin does." },
	{ .names = "cProfile profile yappi",
		.to = "run --trace",
		.same = "-o= --outfile=>--output= -s= --sort= -m=",
		.example = "run --trace -s cumtime script.py",
		.also = "Without --trace it samples, at next to no cost. -o x.prof writes a file for pstats and snakeviz." },
	{ .names = "dis",
		.to = "report --bytecode",
		.example = "report run.lead --bytecode FUNCTION",
		.also = "Record first: leadline run script.py. Each instruction gets its time." },
	{ .names = "flamegraph flamegraph.pl",
		.to = "export",
		.same = "",
		.example = "export run.lead -o flame.svg",
		.also = "Takes recordings and collapsed stacks." },
	{ .names = "gprof2dot",
		.to = "export --format=dot",
		.same = "-o= --output= -n= --node-thres= -e= --edge-thres= -f=> --format=>",
		.example = "export x.prof --format=dot | dot -Tsvg -o x.svg",
		.also = "Without dot: leadline export x.prof --format=callgraph -o graph.svg" },
	{ .names = "hyperfine",
		.to = "bench",
		.same = "-w= --warmup= -r=>--runs= --runs= -m= --min-runs= -M= --max-runs= -N -S= "
			"--shell= -i --ignore-failure -s=>--setup= --setup= -p=>--prepare= --prepare= -c=>--cleanup= --cleanup= --export-json= --export-csv= "
			"--export-markdown= --show-output",
		.each = "-c",
		.example = "bench -c 'grep -r x .' -c 'rg x'",
		.also = "Put -c before each command; hyperfine's other options are the same. To decide which of two is faster: leadline compare -c A -c B" },
	{ .names = "htop",
		.to = "top",
		.same = "-p= --pid=",
		.example = "top PID",
		.also = "What a program used in total: leadline time CMD" },
	{ .names = "kernprof",
		.to = "lines",
		.same = "-l --line-by-line -b --builtin -v -lv -vl --view -o= --outfile= -p= --prof-mod= -u= --unit= -z --skip-zero -m=",
		.example = "lines -l -v script.py" },
	{ .names = "line_profiler",
		.to = "report --line-profiler",
		.same = "",
		.example = "report --line-profiler script.py.lprof",
		.also = "To count lines: leadline lines -v script.py" },
	{ .names = "memory_profiler memray filprofiler",
		.to = "memory",
		.example = "memory script.py",
		.also = "Then leadline report --memory --lines script.lead: the lines that allocated what was alive at the peak." },
	{ .names = "mprof",
		.word = "plot",
		.to = "view",
		.example = "view run.lead",
		.also = "In the terminal: leadline report --memory run.lead" },
	{ .names = "mprof",
		.to = "time",
		.example = "time -o run.lead python3 script.py",
		.also = "Then leadline report --memory run.lead, or leadline export run.lead -o mprofile.dat for mprof plot." },
	{ .names = "nsys",
		.to = "run --torch=full",
		.example = "run --torch=full train.py",
		.also = "Kernels, copies and streams of CUDA, as torch's own profiler sees them; then leadline report --kernels, --streams or --overview." },
	{ .names = "perf",
		.word = "stat",
		.to = "time",
		.same = "",
		.example = "time python3 script.py" },
	{ .names = "perf",
		.word = "report",
		.to = "report",
		.example = "report run.lead",
		.also = "leadline also reads the output of perf script: leadline report perf.txt" },
	{ .names = "perf", .word = "top", .to = "top", .same = "-p= --pid=", .example = "top PID" },
	{ .names = "perf",
		.to = "run",
		.example = "run script.py",
		.also = "A running program: leadline attach PID" },
	{ .names = "pprof",
		.to = "report",
		.example = "report --pprof-text profile.pb.gz",
		.also = "As a page: leadline view profile.pb.gz" },
	{ .names = "pstats",
		.to = "stats",
		.same = "",
		.example = "stats x.prof -c 'sort cumtime' -c 'stats 10'" },
	{ .names = "py-spy pyspy",
		.word = "record",
		.to = "run",
		.attaches = "attach",
		.same = "-o= --output= -p= --pid= -r= --rate= -d= --duration= -f= --format= -g --gil -i --idle -s>--subprocesses --subprocesses",
		.example = "run -o flame.svg script.py",
		.also = "A running program: leadline attach -o flame.svg PID" },
	{ .names = "py-spy pyspy",
		.word = "top",
		.to = "top",
		.same = "-p= --pid= -r= --rate=",
		.example = "top PID" },
	{ .names = "py-spy pyspy",
		.word = "dump",
		.to = "dump",
		.same = "-p= --pid= -l --locals -j --json",
		.example = "dump PID" },
	{ .names = "py-spy pyspy",
		.to = "attach",
		.example = "attach PID",
		.also = "record is leadline run or attach, top is leadline top, dump is leadline dump." },
	{ .names = "pyinstrument",
		.to = "run",
		.same = "-m=",
		.example = "run script.py",
		.also = "Its tree: leadline report --tree script.lead" },
	{ .names = "pytest-benchmark",
		.to = "bench",
		.example = "bench package.module:function",
		.also = "With the package installed, pytest -p leadline provides the fixture "
			"'benchmark'; to compare stored results: leadline compare A.json B.json" },
	{ .names = "python python3", .to = "run", .example = "run script.py", .same = "-m=" },
	{ .names = "scalene",
		.to = "run",
		.same = "",
		.example = "run script.py",
		.also = "Lines: leadline report --lines script.lead, or leadline view." },
	{ .names = "snakeviz tuna",
		.to = "view",
		.same = "-s>--no-browser --server>--no-browser -p=>--port= --port=",
		.example = "view x.prof" },
	{ .names = "speedscope",
		.to = "view",
		.same = "",
		.example = "view run.lead",
		.also = "For its own page: leadline export run.lead -o run.speedscope.json" },
	{ .names = "tensorboard",
		.to = "view",
		.same = "--logdir=>@",
		.example = "view log/",
		.also = "A folder with the traces of torch.profiler, or one of them." },
	{ .names = "timeit",
		.to = "bench",
		.same = "-n= --number= -r= --repeat= -s= --setup= -p --process -u= --unit= -v --verbose",
		.operands_most = 1, /* several are lines of one statement there */
		.example = "bench -s 'x = list(range(100))' 'sorted(x)'" },
	{ .names = "viztracer",
		.to = "run --trace=timeline",
		.example = "run --trace=timeline script.py",
		.also = "Then leadline view script.lead, or leadline export script.lead -o trace.json for its own page." },
	{ .names = "yep",
		.to = "run",
		.example = "run script.py",
		.also = "Python functions only; native frames are not recorded." },
};
const size_t n_habits = sizeof habits / sizeof *habits;

/* ---- finding --------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_same_letter(char a, char b)
{
	return tolower((unsigned char)(a == '_' ? '-' : a)) ==
		tolower((unsigned char)(b == '_' ? '-' : b));
}

static bool is_name(const char *names, const char *word)
{
	size_t n = strlen(word);

	for (; *names; names += strspn(names, " ")) {
		size_t length = strcspn(names, " "), i = 0;

		while (i < length && i < n && is_same_letter(names[i], word[i]))
			i++;
		if (n && i == length && i == n)
			return true;
		names += length;
	}
	return false;
}

/* "python -m cProfile x.py" is cProfile's; "/usr/bin/perf" is perf's. */
static void skip_python(int *argc, char ***argv)
{
	if (*argc > 2 && strncmp(base_name((*argv)[0]), "python", 6) == 0 &&
		strcmp((*argv)[1], "-m") == 0 && habit_find(*argc - 2, *argv + 2)) {
		*argc -= 2;
		*argv += 2;
	}
}

const struct habit *habit_find(int argc, char **argv)
{
	skip_python(&argc, &argv);
	for (size_t i = 0; argc > 0 && i < n_habits; i++)
		if (is_name(habits[i].names, base_name(argv[0])) &&
			(!habits[i].word || (argc > 1 && strcmp(argv[1], habits[i].word) == 0)))
			return &habits[i];
	return NULL;
}

/* ---- their words ----------------------------------------------------------------------------- */

/* One option of `same`: "-s=>--sort=". */
struct option_row {
	const char *from, *to; /* to: NULL, it is the same */
	size_t n_from, n_to;   /* without what follows = */
	bool has_value;
};

static bool next_option(const char **at, struct option_row *ret)
{
	size_t n, arrow;

	*at += strspn(*at, " ");
	n = strcspn(*at, " ");
	if (!n)
		return false;
	arrow = strcspn(*at, " >");
	ret->from = *at;
	ret->has_value = (*at)[arrow - 1] == '=';
	ret->n_from = arrow - ret->has_value;
	ret->to = arrow < n ? *at + arrow + 1 : NULL;
	ret->n_to = arrow < n ? n - arrow - 1 : 0;
	if (ret->n_to && ret->to[ret->n_to - 1] == '=')
		ret->n_to--;
	*at += n;
	return true;
}

static void add_word(struct buf *out, char *word)
{
	buf_addc(out, ' ');
	text_add_command(out, (char *[]){ word, NULL });
}

/* Takes argv[*i] over, with its value. False: it is none of those that mean the same. */
static bool take_option(
	const struct habit *h, int argc, char **argv, int *i, struct buf *out, bool *is_pid)
{
	const char *word = argv[*i], *at = h->same, *equals = strchr(word, '=');
	size_t n = equals && word[1] == '-' ? (size_t)(equals - word) : strlen(word);
	struct option_row o;

	while (next_option(&at, &o)) {
		char *value = NULL;
		bool has_own = o.has_value && word[1] != '-' && strlen(word) > 2; /* -n5 */

		if (strncmp(word, o.from, o.n_from) != 0 ||
			!(has_own ? o.n_from == 2 : n == o.n_from))
			continue;
		if (o.has_value && !has_own && !(equals && word[1] == '-') && *i + 1 >= argc)
			return false;
		if (o.has_value)
			value = has_own                    ? argv[*i] + 2
				: equals && word[1] == '-' ? argv[*i] + n + 1
							   : argv[++*i];
		*is_pid |= (o.n_from == 2 && strncmp(o.from, "-p", 2) == 0) ||
			(o.n_from == 5 && strncmp(o.from, "--pid", 5) == 0);
		if (!o.to)
			buf_printf(out, " %.*s", (int)o.n_from, o.from);
		else if (o.n_to && *o.to != '@')
			buf_printf(out, " %.*s", (int)o.n_to, o.to);
		if (value && (!o.to || o.n_to))
			add_word(out, value);
		return true;
	}
	return false;
}

/* Appends the user's words as ours; false where one of them is not known to mean the same. What stands behind the first that is
 * no option is the program's, or a file. */
static bool translate(const struct habit *h, int argc, char **argv, struct buf *out, bool *is_pid)
{
	int i = h->word ? 2 : 1;

	if (!h->same || i >= argc)
		return false;
	while (i < argc && argv[i][0] == '-' && argv[i][1] && strcmp(argv[i], "--") != 0) {
		bool is_module = strcmp(argv[i], "-m") == 0;

		if (!take_option(h, argc, argv, &i, out, is_pid))
			return false;
		i++;
		if (is_module)
			break;
	}
	if (h->operands_most && argc - i > h->operands_most)
		return false;
	for (; i < argc; i++) {
		if (h->each && argv[i][0] == '-')
			return false;
		if (h->each)
			buf_printf(out, " %s", h->each);
		add_word(out, argv[i]);
	}
	return true;
}

void habit_answer(const struct habit *h, int argc, char **argv, struct buf *out)
{
	struct buf theirs = BUF_INIT;
	bool is_pid = false, is_known;
	const char *to;

	skip_python(&argc, &argv);
	is_known = translate(h, argc, argv, &theirs, &is_pid);
	to = is_known && is_pid && h->attaches ? h->attaches : h->to;
	text_add_printable(out, argv[0], strlen(argv[0]));
	buf_printf(out, "%s%s is 'leadline %s' here:\n", h->word ? " " : "", h->word ? h->word : "",
		to);
	if (is_known) {
		struct buf line = BUF_INIT;

		buf_printf(&line, "%s%s", to, buf_str(&theirs));
		buf_adds(out, "  leadline ");
		text_add_printable(out, line.data, line.n);
		buf_addc(out, '\n');
		buf_done(&line);
	} else {
		buf_printf(out, "  leadline %s\n", h->example);
	}
	if (h->also)
		buf_printf(out, "%s\n", h->also);
	buf_done(&theirs);
}
