"""The table of hostile or broken policies, as written by an author, each with its fault."""

from __future__ import annotations

from dataclasses import dataclass, replace

from apportion_policy.evaluation.fault import FaultKind
from apportion_policy.evaluation.limits import MIB, Limits

LIMITS = Limits(wall_s=20, cpu_s=10, memory_bytes=768 * MIB)
SHORT = replace(LIMITS, wall_s=4)


@dataclass(frozen=True)
class Case:
    """A policy, the kind of its fault, and a part of the message."""

    name: str
    source: str
    kind: FaultKind
    says: str
    limits: Limits = LIMITS
    linux_only: bool = False


CASES = [
    # Network
    Case("opens-a-socket", "import socket\nsocket.socket()  # here\n", "sandbox-violation", "network connection"),
    Case(
        "fetches-a-url",
        "from urllib.request import urlopen\nurlopen('http://192.0.2.1/')  # here\n",
        "sandbox-violation",
        "network connection",
    ),
    Case(
        "resolves-a-name",
        "import socket\nsocket.getaddrinfo('example.org', 80)  # here\n",
        "sandbox-violation",
        "network connection",
    ),
    Case(
        "opens-a-socket-below-the-audit-hook",
        "import _socket, sys\ndef raw(family):\n    return _socket.socket(family)  # here\nraw(_socket.AF_UNIX)\n",
        "sandbox-violation",
        "network connection",
    ),
    # Programs, processes, threads, signals
    Case("runs-a-command", "import os\nos.system('id')  # here\n", "sandbox-violation", "start a program"),
    Case(
        "runs-a-subprocess",
        "import subprocess\nsubprocess.run(['id'])  # here\n",
        "sandbox-violation",
        "start a program",
    ),
    Case("replaces-itself", "import os\nos.execv('/bin/sh', ['sh'])  # here\n", "sandbox-violation", "start a program"),
    Case("forks", "import os\nos.fork()  # here\n", "sandbox-violation", "start a process"),
    Case("fork-bomb", "import os\nwhile True:\n    os.fork()  # here\n", "sandbox-violation", "start a process"),
    Case(
        "starts-a-thread",
        "import threading\nthreading.Thread(target=print).start()  # here\n",
        "sandbox-violation",
        "thread",
    ),
    Case("kills-its-parent", "import os\nos.kill(os.getppid(), 9)  # here\n", "sandbox-violation", "signal"),
    # Native code
    Case(
        "calls-libc",
        "import ctypes\nctypes.CDLL(None).getpid()  # here\n",
        "sandbox-violation",
        "native code",
        linux_only=True,
    ),
    Case(
        "uses-the-interpreter-through-ctypes",
        "import ctypes\nctypes.pythonapi.Py_Exit(0)  # here\n",
        "sandbox-violation",
        "native code",
        linux_only=True,
    ),
    # Files
    Case(
        "reads-a-private-key",
        "import os\nprint(open(os.path.expanduser('~root/.ssh/id_rsa')).read())  # here\n",
        "sandbox-violation",
        "outside the policy's folder",
    ),
    Case("reads-passwords", "print(open('/etc/shadow').read())  # here\n", "sandbox-violation", "/etc/shadow"),
    Case("reads-users", "print(open('/etc/passwd').read())  # here\n", "sandbox-violation", "/etc/passwd"),
    Case(
        "reads-its-parents-environment",
        "import os\nprint(open(f'/proc/{os.getppid()}/environ').read())  # here\n",
        "sandbox-violation",
        "/environ",
        linux_only=True,
    ),
    Case(
        "lists-a-folder",
        "import os\nprint(os.listdir('/etc'))  # here\n",
        "sandbox-violation",
        "tried to list /etc",
    ),
    Case(
        "walks-up", "print(open('../secret.txt').read())  # here\n", "sandbox-violation", "outside the policy's folder"
    ),
    Case("follows-a-link-out", "print(open('link.txt').read())  # here\n", "sandbox-violation", "which points to"),
    Case("reads-git-configuration", "print(open('.git/config').read())  # here\n", "sandbox-violation", "hidden"),
    Case("reads-hidden-file", "print(open('teams/.env').read())  # here\n", "sandbox-violation", "hidden"),
    Case("writes-beside-itself", "open('out.txt', 'w')  # here\n", "sandbox-violation", "tried to write to out.txt"),
    Case(
        "writes-to-a-temporary-folder",
        "import tempfile\ntempfile.NamedTemporaryFile()  # here\n",
        "policy-exception",
        "No usable temporary directory",
    ),
    Case("deletes-itself", "import os\nos.remove('policy.py')  # here\n", "sandbox-violation", "tried to change"),
    Case(
        "changes-its-mode", "import os\nos.chmod('policy.py', 0o777)  # here\n", "sandbox-violation", "tried to change"
    ),
    Case(
        "raises-its-limits",
        "import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (9, 9))  # here\n",
        "sandbox-violation",
        "resource limit",
    ),
    # Time and memory
    Case("loops", "while True:  # here\n    pass  # here\n", "time-limit", "within 4 s", SHORT),
    Case("loops-in-c", "n = 10**10**10  # here\n", "time-limit", "within 4 s", SHORT),
    Case("sleeps", "import time\ntime.sleep(1000)  # here\n", "time-limit", "within 4 s", SHORT),
    Case(
        "burns-processor-time",
        "while True:  # here\n    pass  # here\n",
        "time-limit",
        "1 s of CPU time",
        replace(LIMITS, wall_s=120, cpu_s=1),
    ),
    Case(
        "ignores-the-warning",
        "import signal\nfor s in (signal.SIGALRM, signal.SIGXCPU):\n    signal.signal(s, signal.SIG_IGN)\n"
        "while True:\n    pass\n",
        "time-limit",
        "within 4 s",
        SHORT,
    ),
    Case(
        "catches-everything",
        "while True:\n    try:\n        while True:  # here\n            pass  # here\n    except BaseException:\n        pass\n",
        "time-limit",
        "within 4 s",
        SHORT,
    ),
    Case(
        "closes-its-pipes-and-stays",
        "import os, time\nos.closerange(1, 100)\ntime.sleep(1000)\n",
        "evaluation-crashed",
        "closed the pipes",
    ),
    Case("huge-list", "x = [0] * 10**10  # here\n", "memory-limit", "768 MiB", linux_only=True),
    Case(
        "growing-list",
        "x = []\nwhile True:\n    x.append(bytes(10**6))  # here\n",
        "memory-limit",
        "768 MiB",
        linux_only=True,
    ),
    Case(
        "huge-string",
        "x = 'x'\nwhile True:\n    x = x + x  # here\n",
        "memory-limit",
        "768 MiB",
        linux_only=True,
    ),
    # Output
    Case(
        "prints-without-end",
        "while True:\n    print('x' * 100000)\n",
        "output-too-large",
        "printed more than",
        replace(LIMITS, print_bytes=MIB),
    ),
    Case(
        "declares-too-much",
        "from apportion_policy import Organisation, Policy, Queue\n"
        "policy = Policy(organisation=Organisation(name='acme'), queues=tuple(Queue(id='q' * 200 + str(i)) "
        "for i in range(500)))\n",
        "output-too-large",
        "the serialized policy is",
        replace(LIMITS, output_bytes=50_000),
    ),
    # Ways to end
    Case("exits", "import sys\nsys.exit(0)  # here\n", "policy-exception", "SystemExit"),
    Case("exits-at-once", "import os\nos._exit(0)\n", "evaluation-crashed", "exit status 0"),
    Case("interrupts", "raise KeyboardInterrupt  # here\n", "policy-exception", "KeyboardInterrupt"),
    Case(
        "aborts",
        "import os\nos.abort()  # here\n",
        "evaluation-crashed",
        "SIGABRT",
    ),
    Case(
        "sends-rubbish",
        "import os\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b'[' * 50000 + b'\\n\\n')\n"
        "    except OSError:\n        pass\nos._exit(0)\n",
        "evaluation-crashed",
        "corrupted the result of its evaluation",
    ),
    Case(
        "leaves-exit-handlers",
        "import atexit, time\natexit.register(time.sleep, 1000)\n1 / 0  # here\n",
        "policy-exception",
        "ZeroDivisionError: division by zero",
    ),
    # Exceptions
    Case(
        "raises", "def f():\n    return 1 / 0  # here\nf()\n", "policy-exception", "ZeroDivisionError: division by zero"
    ),
    Case("recurses", "def f():\n    f()  # here\nf()\n", "policy-exception", "RecursionError"),
    Case(
        "exception-that-raises",
        "class E(Exception):\n    def __str__(self):\n        raise SystemExit\nraise E  # here\n",
        "policy-exception",
        "cannot be shown",
    ),
    Case(
        "exception-with-control-characters",
        "raise ValueError('\\x1b[2J\\x1b[31m\\n::error::injected')  # here\n",
        "policy-exception",
        "ValueError: \\x1b[2J\\x1b[31m ::error::injected",
    ),
    Case(
        "exception-with-a-runner-command",
        "raise ValueError('##[add-mask]x')  # here\n",
        "policy-exception",
        "ValueError: # #[add-mask]x",
    ),
    Case(
        "exception-of-great-length",
        "raise ValueError('x' * 10**7)  # here\n",
        "policy-exception",
        "ValueError: xxx",
    ),
    Case("missing-module", "import no_such_module  # here\n", "missing-import", "`no_such_module`"),
    Case("missing-name", "from os import no_such_name  # here\n", "missing-import", "no_such_name"),
    Case(
        "shadowed-module",
        "from enum import vision  # here\n",
        "missing-import",
        "the standard library module",
    ),
    Case("native-module", "import native  # here\n", "sandbox-violation", "native code"),
    Case("bytecode-without-source", "import bare  # here\n", "sandbox-violation", "without its source"),
    # Source text
    Case("syntax-error", "x = 1\ny = = 2  # here\n", "syntax-error", "invalid syntax"),
    Case("bad-indentation", "x = 1\n  y = 2  # here\n", "syntax-error", "unexpected indent"),
    # No policy
    Case("empty", "", "no-policy", "declares no Policy"),
    Case("wrong-type", "policy = ['acme']\n", "no-policy", "`policy` in policy.py is a list"),
    Case("function-without-a-policy", "def policy():  # here\n    return None\n", "no-policy", "`policy()` is None"),
    Case(
        "multiple-policies",
        "from apportion_policy import Organisation, Policy\n"
        "a = Policy(organisation=Organisation(name='a'))  # here\n"
        "b = Policy(organisation=Organisation(name='b'))\n",
        "multiple-policies",
        "`a`, `b`",
    ),
    Case(
        "wrong-value",
        "from apportion_policy import Organisation, Policy\n"
        "policy = Policy(organisation=Organisation(name=''))  # here\n",
        "invalid-value",
        "Organisation: `name`",
    ),
]
