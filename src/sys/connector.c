/* SPDX-License-Identifier: MIT
 * See connector.h. */
#include "sys/connector.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

static int tell(int fd, enum proc_cn_mcast_op op)
{
	char bytes[NLMSG_SPACE(sizeof(struct cn_msg) + sizeof op)]
		__attribute__((aligned(NLMSG_ALIGNTO))) = { 0 };
	struct nlmsghdr *head = (struct nlmsghdr *)bytes;
	struct cn_msg *message = NLMSG_DATA(head);

	head->nlmsg_len = NLMSG_LENGTH(sizeof *message + sizeof op);
	head->nlmsg_type = NLMSG_DONE;
	message->id = (struct cb_id){ CN_IDX_PROC, CN_VAL_PROC };
	message->len = sizeof op;
	memcpy(message->data, &op, sizeof op);
	return send(fd, bytes, head->nlmsg_len, 0) == (ssize_t)head->nlmsg_len ? 0 : -1;
}

/* Elsewhere the kernel takes no subscription, but hands out what others have subscribed to: events with
 * the pids of the first namespace, which name somebody else here. */
static bool is_first_pid_namespace(void)
{
	const ino_t first = 0xEFFFFFFC; /* PROC_PID_INIT_INO of the kernel */
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == first;
}

int connector_open(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
	int room = 4 << 20, failed;
	int fd;

	if (!is_first_pid_namespace()) {
		errno = ENOTSUP;
		return -1;
	}
	fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
	if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
		tell(fd, PROC_CN_MCAST_LISTEN) == 0)
		return fd;
	failed = errno;
	close(fd);
	errno = failed;
	return -1;
}

void connector_close(int fd)
{
	if (fd < 0)
		return;
	tell(fd, PROC_CN_MCAST_IGNORE);
	close(fd);
}
