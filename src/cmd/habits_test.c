/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/habits.h"
#include "cmd/terms.h"

static void words_of_other_tools_become_ours(void **state)
{
	static const struct {
		const char *typed, *answer;
	} cases[] = {
		{ "timeit", "leadline bench -s " },
		{ "timeit -n 100 -s 'import re' 're.compile(\"a\")'",
			"leadline bench -n 100 -s 'import re' 're.compile(\"a\")'\n" },
		{ "timeit -n5 pass", "leadline bench -n 5 pass\n" },
		{ "timeit 'for i in x:' ' i'", "leadline bench -s " },
		{ "timeit --bogus x", "leadline bench -s " },
		{ "cprofile -o x.prof -s cumtime s.py -v 3",
			"leadline run --trace -o x.prof -s cumtime s.py -v 3\n" },
		{ "cProfile --outfile=x.prof -m pkg -x",
			"leadline run --trace --output x.prof -m pkg -x\n" },
		{ "pstats x.prof", "leadline stats x.prof\n" },
		{ "kernprof -l -v s.py", "leadline lines -l -v s.py\n" },
		{ "line_profiler s.lprof", "leadline report --line-profiler s.lprof\n" },
		{ "snakeviz x.prof", "leadline view x.prof\n" },
		{ "snakeviz -s -p 8000 x.prof", "leadline view --no-browser --port 8000 x.prof\n" },
		{ "gprof2dot -f pstats x.prof", "leadline export --format=dot x.prof\n" },
		{ "py-spy record -o x.svg --pid 12", "leadline attach -o x.svg --pid 12\n" },
		{ "pyspy record -o x.svg -- python s.py",
			"leadline run -o x.svg -- python s.py\n" },
		{ "py-spy dump --pid 12", "leadline dump --pid 12\n" },
		{ "py-spy top -p 12", "leadline top -p 12\n" },
		{ "py-spy", "leadline attach PID\n" },
		{ "hyperfine -w 3 'sleep 1' 'sleep 2'",
			"leadline bench -w 3 -c 'sleep 1' -c 'sleep 2'\n" },
		{ "hyperfine 'sleep 1' --warmup 3", "leadline bench -c 'grep -r x .'" },
		{ "tensorboard --logdir log", "leadline view log\n" },
		{ "perf stat ls -l", "leadline time ls -l\n" },
		{ "perf record -g ls", "leadline run script.py\n" },
		{ "python3 -m cProfile -o x.prof s.py", "leadline run --trace -o x.prof s.py\n" },
		{ "/usr/bin/python3.12 -m timeit pass", "leadline bench pass\n" },
		{ "/usr/bin/perf stat ls", "leadline time ls\n" },
		{ "kernprof -lv s.py", "leadline lines -lv s.py\n" },
		{ "flamegraph.pl x.folded", "leadline export x.folded\n" },
		{ "python -m http.server 80", "leadline run -m http.server 80\n" },
		{ "memory-profiler s.py", "leadline memory script.py" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena a = ARENA_INIT;
		struct buf out = BUF_INIT;
		char **argv = text_split_command(&a, cases[i].typed);
		int argc = 0;

		while (argv[argc])
			argc++;
		assert_non_null(habit_find(argc, argv));
		habit_answer(habit_find(argc, argv), argc, argv, &out);
		if (!strstr(buf_str(&out), cases[i].answer))
			fail_msg("%s: %s", cases[i].typed, buf_str(&out));
		buf_done(&out);
		arena_done(&a);
	}
}

/* What is answered can be typed: the command is there, and has the options that the row names. */
static void every_answer_names_a_command_and_options_of_ours(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_habits; i++) {
		const char *lines[] = { habits[i].to, habits[i].example,
			habits[i].attaches ? habits[i].attaches : habits[i].to };

		for (size_t k = 0; k < 3; k++) {
			struct arena a = ARENA_INIT;
			char **argv = text_split_command(&a, lines[k]);
			const struct command *c = command_find(argv[0]);

			assert_non_null(c);
			for (size_t w = 1; argv[w] && strcmp(argv[w], "|") != 0; w++) {
				size_t n = strcspn(argv[w], "="), o = 0;

				if (argv[w][0] != '-')
					continue;
				while (o < c->n_options &&
					!(argv[w][1] == '-' ? c->options[o].name &&
								strlen(c->options[o].name) ==
									n - 2 &&
								strncmp(c->options[o].name,
									argv[w] + 2, n - 2) == 0
							    : c->options[o].letter == argv[w][1]))
					o++;
				if (o == c->n_options)
					fail_msg("%s: no %s", lines[k], argv[w]);
			}
			arena_done(&a);
		}
	}
}

static void names_are_found_whatever_their_case_and_dashes(void **state)
{
	(void)state;
	assert_ptr_equal(habit_find(1, (char *[]){ (char *)"Py_Spy" }),
		habit_find(1, (char *[]){ (char *)"pyspy" }));
	assert_null(habit_find(1, (char *[]){ (char *)"" }));
	assert_null(habit_find(1, (char *[]){ (char *)"time" }));
	assert_null(habit_find(1, (char *[]){ (char *)"timeitt" }));
}

static void every_term_is_found_by_its_names_and_is_a_few_lines(void **state)
{
	(void)state;
	assert_non_null(term_find("TOTTIME"));
	assert_non_null(term_find("±"));
	assert_ptr_equal(term_find("htop"), term_find("top"));
	assert_null(term_find(""));
	for (size_t i = 0; i < n_terms; i++)
		assert_ptr_equal(term_find(terms[i].word), &terms[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_other_tools_become_ours),
		cmocka_unit_test(every_answer_names_a_command_and_options_of_ours),
		cmocka_unit_test(names_are_found_whatever_their_case_and_dashes),
		cmocka_unit_test(every_term_is_found_by_its_names_and_is_a_few_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
