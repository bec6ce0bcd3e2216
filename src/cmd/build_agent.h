/* SPDX-License-Identifier: MIT
 * doctor --build-agent: makes the agent for an interpreter that this leadline has none for, out of the sources that travel
 * inside the executable, with the machine's compiler and that interpreter's headers. */
#ifndef CMD_BUILD_AGENT_H
#define CMD_BUILD_AGENT_H

struct buf;
struct err;

/* python: a path, or a name on the PATH. What was done goes to ret_said, as lines. The agent is loaded once before it is kept. */
int build_agent(const char *python, struct buf *ret_said, struct err *e);

#endif
