/* SPDX-License-Identifier: MIT
 * See regular.h. */
#include "sys/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/banned.h"

static bool is_regular(int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return false;
	errno = EINVAL;
	return S_ISREG(st.st_mode) && fs.f_type != PROC_SUPER_MAGIC;
}

static void format_number(char to[16], int number)
{
	char digits[16];
	int n = 0, k = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	while (n)
		to[k++] = digits[--n];
	to[k] = '\0';
}

static int open_again(int own_fds, int path)
{
	bool has_fds = own_fds >= 0;
	char number[16];
	int fd, saved;

	if (!has_fds)
		own_fds = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (own_fds < 0)
		return -1;
	format_number(number, path);
	fd = openat(own_fds, number, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	saved = errno;
	if (!has_fds)
		close(own_fds);
	errno = saved;
	return fd;
}

int regular_reopen(int own_fds, int path)
{
	int fd, saved;

	if (path < 0)
		return -1;
	fd = is_regular(path) ? open_again(own_fds, path) : -1;
	saved = errno;
	close(path);
	errno = saved;
	return fd;
}

int regular_open(int folder, const char *name)
{
	return regular_reopen(-1, openat(folder, name, O_PATH | O_CLOEXEC));
}
