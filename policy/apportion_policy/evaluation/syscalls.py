"""The system calls that a running policy may make: name → number on x86_64 and aarch64.

The calls that the interpreter needs to compute, to import modules and to respond. None of them opens a socket, starts a
program, process or thread, signals or traces another process, mounts, changes a file or its attributes, or raises a
limit; all other calls fail with EPERM.

Source: Linux `arch/x86/entry/syscalls/syscall_64.tbl`, `include/uapi/asm-generic/unistd.h`.
"""

from __future__ import annotations

# Most frequent first: the filter compares in this order.
ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "newfstatat": (262, 79),
    "fstat": (5, 80),
    "lseek": (8, 62),
    "close": (3, 57),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "brk": (12, 214),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "getdents64": (217, 61),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "write": (1, 64),
    "mprotect": (10, 226),
    "futex": (202, 98),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "pread64": (17, 67),
    "readv": (19, 65),
    "writev": (20, 66),
    "stat": (4, None),
    "lstat": (6, None),
    "statx": (332, 291),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "close_range": (436, 436),
    "fadvise64": (221, 223),
    "getrandom": (318, 278),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "getrusage": (98, 165),
    "getrlimit": (97, 163),
    "setitimer": (38, 103),
    "getitimer": (36, 102),
    "alarm": (37, None),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getgroups": (115, 158),
    "getpgid": (121, 155),
    "getpgrp": (111, None),
    "getsid": (124, 156),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "membarrier": (324, 283),
    "restart_syscall": (219, 128),
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "exit": (60, 93),
    "exit_group": (231, 94),
}

# Allowed only with certain arguments; `seccomp` has the conditions.
OPEN: tuple[int | None, int | None] = (2, None)
OPENAT: tuple[int | None, int | None] = (257, 56)
IOCTL: tuple[int | None, int | None] = (16, 29)
FCNTL: tuple[int | None, int | None] = (72, 25)
TGKILL: tuple[int | None, int | None] = (234, 131)
PRLIMIT64: tuple[int | None, int | None] = (302, 261)


def number(pair: tuple[int | None, int | None], machine: str) -> int | None:
    """Return the number of a system call on an architecture; `None` if it does not exist."""
    return pair[0] if machine == "x86_64" else pair[1]
