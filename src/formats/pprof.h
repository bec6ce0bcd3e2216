/* SPDX-License-Identifier: MIT
 * pprof's files: the fields of its messages, by number, and reading them; see pprof.c. */
#ifndef FORMATS_PPROF_H
#define FORMATS_PPROF_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct foreign;
struct input;

enum pprof_profile {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING_TABLE,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_SAMPLE_TYPE,
};
enum pprof_value_type { VALUE_TYPE = 1, VALUE_UNIT };
enum pprof_sample { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum pprof_label { LABEL_KEY = 1, LABEL_STR, LABEL_NUM, LABEL_NUM_UNIT };
enum pprof_mapping {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_FILENAME = 5,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES,
	MAPPING_HAS_LINES,
	MAPPING_HAS_INLINES,
};
enum pprof_location { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum pprof_line { LINE_FUNCTION = 1, LINE_LINE };
enum pprof_function {
	FUNCTION_ID = 1,
	FUNCTION_NAME,
	FUNCTION_SYSTEM_NAME,
	FUNCTION_FILENAME,
	FUNCTION_START_LINE,
};

/* pprof_read.c */
bool pprof_recognise(const char *head, size_t n);
int pprof_read(struct input *in, struct foreign *to, struct err *e);

#endif
