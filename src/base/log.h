/* SPDX-License-Identifier: MIT
 *
 * Debug logging by topic, off unless asked for: LEADLINE_LOG=store:2,tree:1 or LEADLINE_LOG=all:1.
 * Level 1 tells decisions, 2 details. Lines go to stderr. Each file that logs states
 *
 *	#define LOG_TOPIC "store"
 *
 * before including this header. Hot paths count instead of logging. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

/* Reads LEADLINE_LOG; called once by main. */
void log_init(const char *spec);
bool log_wants(const char *topic, int level);
void log_line(const char *topic, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_debug(level, ...)                             \
	do {                                              \
		if (log_wants(LOG_TOPIC, (level)))        \
			log_line(LOG_TOPIC, __VA_ARGS__); \
	} while (0)

#endif
