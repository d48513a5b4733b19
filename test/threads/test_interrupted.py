#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A signal in every system call: strace lets every third call of a kind fail as one that a signal has interrupted, from the
first on. No lane minds, and the sums are right. Prints TAP."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.join(os.environ.get("NEZHA_BUILD_DIR", "."), "test", "threads", "processes")
KINDS = ("readv", "sendmsg", "recvfrom", "sendto", "getrandom", "ppoll", "epoll_wait", "accept4")
RANKS, OPERATIONS, SIZE = 2, 50, 65536
PATIENCE = 120


def traced(kind, trace):
    """The command line of strace, without what it runs."""
    return ["strace", "-f", "--seccomp-bpf", "-o", trace, "-e", f"trace={kind}",
            "-e", f"inject={kind}:error=EINTR:when=1+3"]


def why_not(folder):
    """Why nothing can be interrupted here, or an empty text."""
    if not os.access(PROGRAM, os.X_OK):
        return f"{PROGRAM} is not built"
    if not shutil.which("strace"):
        return "strace is not installed"
    tried = subprocess.run([*traced("getrandom", os.path.join(folder, "tried")), "true"], capture_output=True, text=True,
                           check=False)
    return "" if tried.returncode == 0 else f"strace may not look at processes here ({tried.stderr.strip()})"


def trouble(kind, trace):
    """What was wrong when calls of that kind were interrupted, or an empty text."""
    command = [*traced(kind, trace), PROGRAM, str(RANKS), str(OPERATIONS), str(SIZE), "single_node=2", "learn=0", "verbose=3"]
    try:
        done = subprocess.run(command, input="go\nend\n", capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"not done after {PATIENCE} s"
    with open(trace, encoding="utf-8", errors="replace") as lines:
        if "(INJECTED)" not in lines.read():
            return f"there was no {kind} to interrupt"
    if done.returncode != 0 or "done" not in done.stdout:
        return f"exit status {done.returncode}: {done.stderr[-1000:]}"
    minded = [line for line in done.stderr.splitlines() if os.strerror(errno.EINTR) in line]
    return minded[0] if minded else ""


def main():
    with tempfile.TemporaryDirectory() as folder:
        reason = why_not(folder)
        if reason:
            print(f"1..0 # SKIP {reason}")
            return 0
        print(f"1..{len(KINDS)}", flush=True)
        failed = 0
        for number, kind in enumerate(KINDS, 1):
            wrong = trouble(kind, os.path.join(folder, kind))
            failed += bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} {number} - an interrupted {kind}")
            if wrong:
                print("\n".join(f"# {line}" for line in wrong.splitlines()), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
