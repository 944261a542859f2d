// SPDX-License-Identifier: MIT
// fail_io NUMBER LOG COMMAND ...: runs a program in which one I/O call fails, call NUMBER of all
// that it and its children make, counted from 0; -1: none. The kernel asks this process about every
// call (seccomp user notification), so libraries and buffered streams are covered too, in any
// build. LOG gets one line per call: its name, and the path of an open. The exit code is the
// program's; 77 if the kernel cannot do this.
//
// Counted are calls on files: opens, reads, writes, renames, fsync, ftruncate, mkdir, and mmap of a
// file. Writes to stderr are left alone: nothing could be said about them.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UNSUPPORTED = 77, MAX_CALLS = 32 };

typedef struct io_call {
    const char *name;
    int number; // of the system call
    int error;  // that it fails with
} io_call;

static const io_call io_calls[] = {
    {"openat", SYS_openat, EMFILE},    {"read", SYS_read, EIO},
    {"pread", SYS_pread64, EIO},       {"write", SYS_write, ENOSPC},
    {"pwrite", SYS_pwrite64, ENOSPC},  {"writev", SYS_writev, ENOSPC},
    {"fsync", SYS_fsync, EIO},         {"ftruncate", SYS_ftruncate, EIO},
    {"mmap", SYS_mmap, ENOMEM},        {"mkdirat", SYS_mkdirat, ENOSPC},
    {"renameat2", SYS_renameat2, EIO}, {"getdents", SYS_getdents64, EIO},
#ifdef SYS_rename
    {"open", SYS_open, EMFILE},        {"rename", SYS_rename, EIO},
    {"mkdir", SYS_mkdir, ENOSPC},
#endif
};
enum { CALLS = sizeof io_calls / sizeof *io_calls };

// In the child: every call of the list is sent to the listener, which it passes to the parent.
static int install_filter(void)
{
    struct sock_filter code[MAX_CALLS];
    int n = 0;
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < CALLS; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (unsigned)io_calls[i].number, (unsigned char)(CALLS - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    const struct sock_fprog program = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

// sendmsg() and recvmsg() are not in the list, so that the listener itself can be passed on.
static bool pass_descriptor(int to, int fd)
{
    char byte = 0, room[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    return sendmsg(to, &message, 0) == 1;
}

static int take_descriptor(int from)
{
    int fd = -1;
    char byte, room[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(from, &message, 0) < 1) return -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd;
}

static const io_call *find_call(int number)
{
    for (int i = 0; i < CALLS; i++)
        if (io_calls[i].number == number) return &io_calls[i];
    return NULL;
}

// The path of an open, out of the memory of the program.
static void read_path(char *out, size_t size, const struct seccomp_notif *asked)
{
    const bool at = asked->data.nr == SYS_openat || asked->data.nr == SYS_mkdirat;
    struct iovec here = {out, size - 1}, there = {(void *)asked->data.args[at ? 1 : 0], size - 1};
    ssize_t got = -1;
    out[0] = 0;
    // The string may end just before memory that is not there.
    while (there.iov_len && (got = process_vm_readv((pid_t)asked->pid, &here, 1, &there, 1, 0)) < 0)
        there.iov_len /= 2;
    out[got > 0 ? got : 0] = 0;
    for (char *c = out; *c; c++)
        if (*c == '\n') *c = '?';
}

static bool is_counted(const struct seccomp_notif *asked)
{
    const int number = asked->data.nr, fd = (int)asked->data.args[0];
    if (number == SYS_mmap) return (int)asked->data.args[4] >= 0;
    if (number == SYS_write || number == SYS_writev) return fd != STDERR_FILENO;
    return true;
}

// Answers until the last process is gone. Returns false if the kernel refuses.
static bool answer_calls(int listener, long fails_at, FILE *log)
{
    long count = 0;
    for (;;) {
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        if (poll(&ready, 1, -1) < 0 && errno != EINTR) return false;
        if (ready.revents & POLLHUP) return true;
        if (!(ready.revents & POLLIN)) continue;
        struct seccomp_notif asked = {0};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked)) continue; // the process was killed
        struct seccomp_notif_resp answer = {.id = asked.id,
                                            .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        const io_call *call = find_call(asked.data.nr);
        if (call && is_counted(&asked)) {
            char path[256] = "";
            const bool named = strstr(call->name, "open") || strstr(call->name, "mkdir");
            if (named) read_path(path, sizeof path, &asked);
            fprintf(log, "%s %s\n", call->name, path);
            if (count++ == fails_at) {
                answer.flags = 0;
                answer.error = -call->error;
            }
        }
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
}

int main(int argc, char **argv)
{
    int pair[2];
    if (argc < 4) return 2;
    FILE *log = fopen(argv[2], "w");
    if (!log || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return UNSUPPORTED;
    const pid_t child = fork();
    if (child < 0) return UNSUPPORTED;
    if (!child) {
        const int listener = install_filter();
        if (listener < 0 || !pass_descriptor(pair[1], listener)) _exit(UNSUPPORTED);
        close(listener);
        execv(argv[3], argv + 3);
        _exit(127);
    }
    close(pair[1]);
    const int listener = take_descriptor(pair[0]);
    const bool worked = listener >= 0 && answer_calls(listener, strtol(argv[1], NULL, 10), log);
    int how;
    if (waitpid(child, &how, 0) < 0 || !worked) return UNSUPPORTED;
    fclose(log);
    return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
}
