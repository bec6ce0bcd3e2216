/* SPDX-License-Identifier: MIT
 * Which scripts import a module, by their text. */
#include "cmd/start.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/banned.h"

static void imports_are_found(void **state)
{
	static const char *const texts[] = { "import leadline", "import os\nimport leadline\n",
		"  import leadline as ll\r\n", "import os, leadline", "from leadline import region",
		"from leadline.torch import profile", "\tfrom  leadline import region # why",
		"import leadline.torch", "if x: import leadline",
		"x = 1; from leadline import lines", "importlib.import_module('leadline')",
		"__import__(\"leadline\")" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_true(start_imports(texts[i], "leadline"));
}

static void mentions_are_none(void **state)
{
	static const char *const texts[] = { "", "\n", "leadline", "# import leadline",
		"print(1) # from leadline import region", "'''What leadline shows.'''",
		"time comes from\nleadline", "times from the tool leadline", "import leadlines",
		"import my_leadline", "import my.leadline", "from .leadline import x",
		"leadline.region('x')", "import os; leadline = 1",
		"subprocess.run(['leadline', 'run'])" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_false(start_imports(texts[i], "leadline"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(imports_are_found),
		cmocka_unit_test(mentions_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
