/* SPDX-License-Identifier: MIT
 *
 * The Python interpreters of this machine: found in the folders where they usually are, asked what
 * they are by running each once, and judged (CPython 3.8 … 3.15, 64-bit, with or without GIL).
 *
 * An executable called python3 may be anything: a script that picks another one (pyenv), a program
 * that hangs or prints garbage. So each gets no input, a process group and 3 s of its own, 4 KiB of
 * what it prints are looked at, and 4 run at once. One file is listed once, whatever links and
 * scripts lead to it. What is on the PATH or named by the environment is trusted as a shell would;
 * what was only found by looking around is run only if it belongs to us or to root.
 *
 *	struct interpreters all;
 *
 *	interpreters_find(&all, &places);
 *	... all.v[0 … all.n)
 *	interpreters_done(&all);
 */
#ifndef SYS_INTERPRETERS_H
#define SYS_INTERPRETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Where to look, all borrowed; NULL or "" stands for nowhere. */
struct interpreter_places {
	const char *virtual_env;  /* $VIRTUAL_ENV */
	const char *conda_prefix; /* $CONDA_PREFIX */
	const char *own_folder;   /* of the tool, when it was installed into an environment */
	const char *path;         /* $PATH */
	const char *home;         /* $HOME: folders of pyenv, uv, conda, asdf, mise */
	const char *pyenv_root;   /* $PYENV_ROOT, else in home */
	const char *system;       /* "" in real life; put before /usr/bin, /opt … by tests */
};

struct interpreter {
	char *path;              /* owned; of the program itself, not of a script that picks it */
	char version[24];        /* "3.13.5", "3.15.0a2"; "" when it did not say */
	char implementation[24]; /* "CPython", "PyPy"; "" when it did not say */
	char torch[40];          /* the version of PyTorch it would import; "": none was found */
	unsigned major, minor;
	bool is_free_threaded, is_64bit;
	bool is_supported;
	char reason[160];      /* why it is not supported; "" when it is */
	const char *chosen_by; /* NULL, or what makes `run` take this one: "VIRTUAL_ENV" … */
	bool is_script;        /* as found: it may pick another program */
	bool is_trusted;       /* may be run */
	dev_t dev;             /* with ino: the file that is behind the path */
	ino_t ino;
};

struct interpreters {
	struct interpreter *v; /* owned; the one `run` takes first, then newest first */
	size_t n;
	size_t n_left_out; /* further ones that were found but are too many to ask */
};

/* What the environment says. own_folder_room holds that field's text, if any. */
struct interpreter_places interpreter_places_read(char *own_folder_room, size_t room_bytes);

/* Takes as long as the slowest interpreter, at most some 6 s. */
void interpreters_find(struct interpreters *ret, const struct interpreter_places *places);
void interpreters_done(struct interpreters *all);

/* The interpreter `run` takes; NULL when there is none. It may be an unsupported one. */
const struct interpreter *interpreters_default(const struct interpreters *all);

/* What `run` would start by default: VIRTUAL_ENV, CONDA_PREFIX, the tool's own environment, then
 * python3 on the PATH. false when there is none; *ret_why is a constant. */
bool interpreter_choose(const struct interpreter_places *places, char *ret_path, size_t path_bytes,
	const char **ret_why);

/* Takes version, implementation … from what an interpreter printed (any bytes) and judges it.
 * *ret_exe (may be NULL) gets sys.executable or "". Without a usable answer the reason says what
 * was printed instead. */
void interpreter_parse(
	struct interpreter *i, const char *printed, size_t n, char *ret_exe, size_t exe_bytes);

/* Runs those that may be run, and fills in what they say. */
void interpreters_ask(struct interpreter *v, size_t n);

/* Drops later ones with the same dev and ino; entries with ino 0 are unlike all others. */
void interpreters_deduplicate(struct interpreters *all);

#endif
