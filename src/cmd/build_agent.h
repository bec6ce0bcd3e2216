/* SPDX-License-Identifier: MIT
 * Makes the agent for an interpreter that this leadline has none for, out of the sources that travel inside the executable, with the
 * machine's compiler and that interpreter's headers, into the folder of collect/agents/agents.h: on demand (doctor --build-agent) and when a
 * program is about to be traced. */
#ifndef CMD_BUILD_AGENT_H
#define CMD_BUILD_AGENT_H

#include <stdbool.h>

struct buf;
struct err;

/* python: a path, or a name on the PATH. What was done goes to ret_said, as lines. Nothing, where one is there that the interpreter
 * loads. The agent is loaded once before it is kept. */
int build_agent(const char *python, struct buf *ret_said, struct err *e);

/* For the first word of a command that is to be traced: an interpreter, or a script whose first line names one. Builds its agent where
 * there is none, and says so on stderr. 0 as well when nobody can tell yet what will run. ERR_NO_AGENT: it cannot be built. */
int build_agent_for(const char *program, struct err *e);

/* The version of the interpreter that the command is or its script names, "3.11.2"; false: nobody can tell yet what will run. */
bool build_agent_version(const char *program, char ret[static 24]);

/* Has the interpreter load it, in a process of its own. What it says is the error's text. */
int build_agent_try(const char *python, const char *agent, struct err *e);

#endif
