# SPDX-License-Identifier: BSD-3-Clause
"""The part "sanitizers": what can run under them does, each in a build of its own.

A script in test/mpi takes part when it has a line `# sanitizers: address undefined` (the kinds it can run under). It is
started with NEZHA_SANITIZER (the kind) and NEZHA_PRELOAD (the library that every rank has to preload, or nothing).
"""

import os
import re
import shutil
import subprocess

from nezha_check.results import FAILED
from nezha_check.run import run_tests
from nezha_check.tree import build, build_test_programs, programs_to_run, scripts_to_run

# Those that can live together share a build. The simulator and the unit tests have one thread each.
FOLDERS = {"address-undefined": ("unit", "sim", "threads"), "thread": ("threads",)}
PRELOAD = {"address-undefined": "libasan.so", "thread": "libtsan.so"}
MARK = re.compile(r"^# sanitizers:(.*)$", re.MULTILINE)
OPTIONS = {
    "ASAN_OPTIONS": "strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "second_deadlock_stack=1:history_size=4",
}


def preload_of(kind):
    return subprocess.run(["gcc", f"-print-file-name={PRELOAD[kind]}"], capture_output=True, text=True,
                          check=True).stdout.strip()


def runs_under(kind, text):
    mark = MARK.search(text)
    return bool(mark) and set(kind.split("-")).issubset(mark[1].split())


def fixed_addresses(kind):
    """The thread sanitizer of gcc 12 cannot map its shadow where the kernel spreads addresses widely."""
    return ["setarch", "-R"] if kind == "thread" and shutil.which("setarch") else []


def run_kind(check, kind):
    build_dir = os.path.join(check.build_dir, kind)
    name = f"{kind} sanitizer"
    flags = "-O1 -g"
    cases = [build(check, kind, build_dir, f"--enable-sanitizer={kind}", f"CFLAGS={flags}", f"CXXFLAGS={flags}")]
    if cases[0].outcome != FAILED:
        cases.append(build_test_programs(check, kind, build_dir))
    if any(case.outcome == FAILED for case in cases):
        return cases
    label = f"{name}: "
    env = dict(OPTIONS, NEZHA_SANITIZER=kind)
    programs = [entry for folder in FOLDERS[kind]
                for entry in programs_to_run(check, build_dir, folder, env, fixed_addresses(kind), label)
                if not entry[0].endswith(".py")]
    cases += run_tests(programs, check.jobs)
    env = dict(env, NEZHA_PRELOAD=preload_of(kind))
    cases += run_tests(scripts_to_run(check, build_dir, "mpi", env, label, lambda text: runs_under(kind, text)), 1)
    return cases


def run_sanitizers(check):
    return [case for kind in FOLDERS for case in run_kind(check, kind)]
