"""Each kernel layer is effective on its own, without the audit hook, against malicious code.

A probe is a program that confines itself like the child, tries one operation and prints the errno.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(sys.platform != "linux", reason="requires Linux: Landlock, seccomp and namespaces"),
]

CANARY = "canary-88d03e5b"
PROLOGUE = """
import ctypes, encodings.idna, errno, json, os, resource, signal, socket, subprocess, sys, threading, mmap
from apportion_policy.evaluation import landlock, confinement_layers, privileges, seccomp, rlimits, read_access, linux_layers, limits
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in arguments))
    return 0 if result >= 0 else ctypes.get_errno()
def attempt(action):
    try:
        action()
    except OSError as refused:
        return refused.errno
    except RuntimeError:
        return "refused"
    return 0
root, other, parent, user = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
r = read_access.readable_paths(root)
if user == "ordinary":
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print_to = os.dup(1)
raised = confinement_layers.RaisedLayers()
"""
ALL = "linux_layers.raise_linux_layers(r, raised, parent=os.getppid())\n"
FILES_ONLY = (
    "privileges.refuse_new_privileges()\n"
    "landlock.restrict_files(folders=r.folders, files=r.files, listings=r.listings)\n"
)
CALLS_ONLY = "privileges.refuse_new_privileges()\nseccomp.restrict_system_calls()\n"
NETWORK_ONLY = "privileges.leave_network()\n"


@dataclass(frozen=True)
class Probe:
    """An operation under some layers, and the errors that mean it was denied."""

    name: str
    layers: str
    tries: str
    refused_with: tuple[int | str, ...]


DENIED = (errno.EPERM, errno.EACCES)
UNREACHABLE = (errno.ENETUNREACH, errno.EADDRNOTAVAIL)
PROBES = [
    Probe("read-outside", FILES_ONLY, "attempt(lambda: open(other))", DENIED),
    Probe("read-hidden", FILES_ONLY, "attempt(lambda: open(root + '/.git/config'))", DENIED),
    Probe("read-through-link", FILES_ONLY, "attempt(lambda: open(root + '/link'))", DENIED),
    Probe("read-own", FILES_ONLY, "attempt(lambda: open(root + '/teams/a.py'))", (0,)),
    Probe("list-own", FILES_ONLY, "attempt(lambda: os.listdir(root))", (0,)),
    Probe("list-outside", FILES_ONLY, "attempt(lambda: os.listdir('/etc'))", DENIED),
    Probe("write-own", FILES_ONLY, "attempt(lambda: open(root + '/new', 'w'))", DENIED),
    Probe("append-own", FILES_ONLY, "attempt(lambda: open(root + '/teams/a.py', 'a'))", DENIED),
    Probe("remove-own", FILES_ONLY, "attempt(lambda: os.remove(root + '/teams/a.py'))", DENIED),
    Probe("execute", FILES_ONLY, "attempt(lambda: os.execv(sys.executable, ['python', '-c', '']))", DENIED),
    Probe("parent-environment", FILES_ONLY, "attempt(lambda: open(f'/proc/{parent}/environ'))", DENIED),
    Probe("parent-memory", FILES_ONLY, "attempt(lambda: open(f'/proc/{parent}/mem', 'rb'))", DENIED),
    Probe("trace-parent", FILES_ONLY, "attempt(lambda: os._exit(9)) if call(101, 16, parent, 0, 0) == 0 else 1", (1,)),
    Probe("signal-parent", FILES_ONLY, "attempt(lambda: os.kill(parent, 0))", DENIED),
    Probe("socket", CALLS_ONLY, "attempt(socket.socket)", DENIED),
    Probe("unix-socket", CALLS_ONLY, "attempt(lambda: socket.socket(socket.AF_UNIX))", DENIED),
    Probe("socket-pair", CALLS_ONLY, "attempt(socket.socketpair)", DENIED),
    Probe("fork", CALLS_ONLY, "attempt(os.fork)", DENIED),
    Probe("thread", CALLS_ONLY, "attempt(lambda: threading.Thread(target=print).start())", ("refused",)),
    Probe("spawn", CALLS_ONLY, "attempt(lambda: subprocess.run(['/bin/true']))", DENIED),
    Probe("execute-by-call", CALLS_ONLY, "attempt(lambda: os.execv('/bin/true', ['true']))", DENIED),
    Probe("signal", CALLS_ONLY, "attempt(lambda: os.kill(parent, 0))", DENIED),
    Probe("write-by-call", CALLS_ONLY, "attempt(lambda: open(root + '/new', 'w'))", DENIED),
    Probe("change-mode", CALLS_ONLY, "attempt(lambda: os.chmod(root + '/teams/a.py', 0o777))", DENIED),
    Probe("change-times", CALLS_ONLY, "attempt(lambda: os.utime(root + '/teams/a.py'))", DENIED),
    Probe("change-extended", CALLS_ONLY, "attempt(lambda: os.setxattr(root + '/teams/a.py', 'user.a', b'1'))", DENIED),
    Probe("memory-file", CALLS_ONLY, "attempt(lambda: os.memfd_create('x'))", DENIED),
    Probe("raise-limit", CALLS_ONLY, "attempt(lambda: resource.prlimit(0, resource.RLIMIT_CPU, (9, 9)))", DENIED),
    Probe("read-limit", CALLS_ONLY, "attempt(lambda: resource.getrlimit(resource.RLIMIT_CPU))", (0,)),
    Probe("type-into-terminal", CALLS_ONLY, "__import__('fcntl') and attempt(lambda: __import__('fcntl').ioctl(0, 0x5412, b'x'))", DENIED),
    Probe("own-signal", CALLS_ONLY, "attempt(lambda: signal.raise_signal(signal.SIGCHLD))", (0,)),
    Probe("reach-network", NETWORK_ONLY, "attempt(lambda: socket.create_connection(('192.0.2.1', 80), 1))", UNREACHABLE),
    Probe("reach-loopback", NETWORK_ONLY, "attempt(lambda: socket.create_connection(('127.0.0.1', 9), 1))", UNREACHABLE),
    Probe("all-read-outside", ALL, "attempt(lambda: open(other))", DENIED),
    Probe("all-read-own", ALL, "attempt(lambda: open(root + '/teams/a.py'))", (0,)),
    Probe("all-environment", ALL, "attempt(lambda: open(f'/proc/{parent}/environ'))", DENIED),
]  # fmt: skip

# System calls without a Python function: number on x86_64, on aarch64.
RAW_CALLS = {
    "bpf": (321, 280),
    "clone": (56, 220),
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "kcmp": (312, 272),
    "keyctl": (250, 219),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "prctl": (157, 167),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "seccomp": (317, 277),
    "setns": (308, 268),
    "shmget": (29, 194),
    "socket": (41, 198),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}


def users() -> list[str]:
    """Root is tested as an ordinary user too, because the results may differ."""
    return ["as-is", "ordinary"] if os.geteuid() == 0 else ["as-is"]


def probe(folder: Path, layers: str, tries: str, user: str) -> object:
    """Return the output of a confined program."""
    for parent in (folder, *folder.parents):
        if os.geteuid() == 0 and parent.is_relative_to("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o055)
    root, other = folder / "policy", folder / "outside"
    program = f"{PROLOGUE}{layers}os.write(print_to, json.dumps({tries}).encode())\nos._exit(0)\n"
    ended = subprocess.run(
        [sys.executable, "-c", program, str(root), str(other), str(os.getpid()), user],
        env={**os.environ, "SECRET": CANARY},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert CANARY not in ended.stdout + ended.stderr
    if "unshare" in ended.stderr and layers == NETWORK_ONLY:
        pytest.skip("the kernel denies unprivileged users a network namespace; this layer is optional")
    if "no Landlock" in ended.stderr:
        pytest.skip("requires Landlock: Linux 5.13 or later with it enabled, and not gVisor")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy/.git").mkdir(parents=True)
    (tmp_path / "policy/.git/config").write_text(CANARY)
    (tmp_path / "policy/teams").mkdir()
    (tmp_path / "policy/teams/a.py").write_text("")
    (tmp_path / "outside").write_text(CANARY)
    (tmp_path / "policy/link").symlink_to(tmp_path / "outside")
    return tmp_path


@pytest.mark.parametrize("user", users())
@pytest.mark.parametrize("case", PROBES, ids=lambda case: case.name)
def test_layer_refuses_access(case: Probe, user: str, folder: Path) -> None:
    assert probe(folder, case.layers, case.tries, user) in case.refused_with


@pytest.mark.parametrize("user", users())
def test_raw_system_calls_are_refused(user: str, folder: Path) -> None:
    index = {"x86_64": 0, "aarch64": 1}.get(os.uname().machine)
    if index is None:
        pytest.skip("the seccomp layer exists on x86_64 and aarch64 only")
    numbers = {name: pair[index] for name, pair in RAW_CALLS.items()}
    tries = f"{{name: call(number, 0, 0, 0, 0) for name, number in {numbers!r}.items()}}"
    assert probe(folder, CALLS_ONLY, tries, user) == dict.fromkeys(RAW_CALLS, errno.EPERM)


@pytest.mark.skipif(
    os.uname().machine != "x86_64",
    reason="requires x86_64: only there, `int 0x80` calls the kernel with 32-bit numbers",
)
def test_system_calls_of_another_architecture_are_killed(folder: Path) -> None:
    """`int 0x80` enters with 32-bit numbers, by which socket is 359 and open is 5."""
    code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20 (getpid); int 0x80; ret
    program = (
        f"{PROLOGUE}{CALLS_ONLY}"
        f"page = mmap.mmap(-1, 4096, prot=7)\npage.write({code!r})\n"
        "address = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "ctypes.CFUNCTYPE(ctypes.c_int)(address)()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(folder), "", str(os.getpid()), "as-is"],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert -ended.returncode == 31  # SIGSYS


def test_python_can_still_import(folder: Path) -> None:
    assert (
        probe(folder, ALL, "attempt(lambda: [__import__(n) for n in ('sqlite3', 'ssl', 'yaml', 'csv')])", "as-is") == 0
    )


def test_root_keeps_only_the_capability_to_read(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("requires root: other users have no capabilities to drop")
    tries = "[line.split()[1] for line in status.splitlines() if line.startswith(('CapPrm', 'CapEff', 'NoNewPrivs'))]"
    layers = (
        "privileges.refuse_new_privileges()\nprivileges.drop_capabilities(keep_reading=True)\n"
        "status = open('/proc/self/status').read()\n"
    )
    # Bit 2, CAP_DAC_READ_SEARCH: root can still read a checkout owned by another user.
    assert probe(folder, layers, tries, "as-is") == ["0000000000000004", "0000000000000004", "1"]


def test_child_dies_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text("import time\ntime.sleep(60)\n")
    program = (
        "import os, sys, time\nfrom apportion_policy.evaluation.parent import start\n"
        f"running = start({str(tmp_path)!r})\ntime.sleep(1)\n"
        "sys.stdout.write(str(running._begun.process_id)); sys.stdout.flush()\nos._exit(1)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    status = Path(f"/proc/{ended.stdout}/stat")
    for _ in range(3000):
        if not status.exists() or status.read_text().split()[2] == "Z":
            return
        __import__("time").sleep(0.02)
    pytest.fail("the child is still there")
