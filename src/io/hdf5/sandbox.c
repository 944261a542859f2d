// SPDX-License-Identifier: MIT
// Applies every limit that the kernel supports. On an old kernel fewer apply; files are checked all
// the same. The sanitizers need system calls and address space of their own, so builds with them
// leave out these two limits.
#define _GNU_SOURCE
#include "io/hdf5/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "io/hdf5/protocol.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0
#endif

// Lowers a resource limit; it never raises the hard limit.
static void set_limit(int which, rlim_t value)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)which, &limit)) return;
    limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
    setrlimit((__rlimit_resource_t)which, &limit);
}

void hdf5_sandbox_enter(void)
{
#ifdef SYS_close_range
    syscall(SYS_close_range, HDF5_PROTOCOL_ALIVE + 1, ~0u, 0);
#endif
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_NOFILE, 16);
}

// Address space in use, in bytes.
static uint64_t get_memory_in_use(void)
{
    unsigned long long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm) return (uint64_t)1 << 28;
    if (fscanf(statm, "%llu", &pages) != 1) pages = 1 << 16;
    fclose(statm);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void hdf5_sandbox_limit(uint64_t memory, uint64_t milliseconds, uint64_t output)
{
    static uint64_t base; // read once, before /proc becomes inaccessible
    if (!base) base = get_memory_in_use();
    set_limit(RLIMIT_FSIZE, output);
    if (SANITIZED) return;
    set_limit(RLIMIT_AS, base + memory);
    // The timer's signal ends the process. RLIMIT_CPU has a resolution of seconds and is the
    // backup.
    const struct itimerval timer = {.it_value = {.tv_sec = (time_t)(milliseconds / 1000),
                                                 .tv_usec = (long)(milliseconds % 1000) * 1000}};
    setitimer(ITIMER_PROF, &timer, NULL);
    struct timespec used = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    set_limit(RLIMIT_CPU, (uint64_t)used.tv_sec + milliseconds / 1000 + 2);
}

// clang-format off
static const unsigned short reading_calls[] = {
    SYS_read, SYS_pread64, SYS_readv, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_close,
    SYS_write, SYS_pwrite64, SYS_ftruncate, SYS_fsync, SYS_flock, SYS_fcntl,
    SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_futex,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_tgkill,
    SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname,
    SYS_clock_gettime, SYS_gettimeofday, SYS_sysinfo, SYS_getrandom, SYS_sched_yield,
    SYS_getrlimit, SYS_setrlimit, SYS_prlimit64, SYS_setitimer, SYS_exit, SYS_exit_group,
};
static const unsigned short opening_calls[] = {
    SYS_openat, SYS_readlinkat, SYS_faccessat, SYS_prctl, // prctl: the second filter is set later
#ifdef SYS_open // newer architectures do not have the old calls
    SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink,
#endif
};
// clang-format on
enum {
    READING_COUNT = sizeof reading_calls / sizeof *reading_calls,
    OPENING_COUNT = sizeof opening_calls / sizeof *opening_calls,
};

void hdf5_sandbox_restrict_calls(bool may_open)
{
    if (SANITIZED || !ARCHITECTURE) return;
    struct sock_filter code[5 + 2 * (READING_COUNT + OPENING_COUNT)];
    unsigned short n = 0;
#define WORD(field) \
    (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, (action))
#define SKIP_UNLESS(value) (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
    code[n++] = WORD(arch);
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    code[n++] = RETURN(SECCOMP_RET_KILL);
    code[n++] = WORD(nr);
    for (int i = 0; i < READING_COUNT + (may_open ? OPENING_COUNT : 0); i++) {
        code[n++] =
            SKIP_UNLESS(i < READING_COUNT ? reading_calls[i] : opening_calls[i - READING_COUNT]);
        code[n++] = RETURN(SECCOMP_RET_ALLOW);
    }
    // Other calls return EPERM instead of killing the process, so that a newer C library still
    // runs.
    code[n++] = RETURN(SECCOMP_RET_ERRNO | EPERM);
    const struct sock_fprog program = {.len = n, .filter = code};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
