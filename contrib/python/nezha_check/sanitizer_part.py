# SPDX-License-Identifier: BSD-3-Clause
"""The part "sanitizers": what can run under them does, each in a build of its own.

A script in test/mpi takes part when it has a line `# sanitizers: address undefined` (the kinds it can run under). It is
started with NEZHA_SANITIZER (the kind) and NEZHA_PRELOAD (the library that every rank has to preload), and the component
has to be a sanitized one, since Open MPI says nothing of one that it cannot load.
"""

import os
import re
import shutil
import subprocess

from nezha_check.results import FAILED, PASSED, Case
from nezha_check.run import run_tests
from nezha_check.tree import PLAIN_ONLY, build, build_for, make_list, programs_of, programs_to_run, scripts_to_run
from nezha_check.united_build import CONFIGURED, United

# Those that can live together share a build. The simulator and most unit tests have one thread each. The first kind is in
# each check; mpi and the other kind only with --long.
FOLDERS = {"address-undefined": ("unit", "sim", "threads"), "thread": ("threads",)}
# Beside those of the folders. The members of a node are threads of one process there, over one mapping of their memory: the
# sanitizer sees nothing of what processes do to one another.
ALSO = {"thread": ("test/unit/test_node_segment", "test/unit/test_node_stage")}
ALWAYS = ("address-undefined",)
TIMELESS, TIMED = ("sim",), ("unit", "threads")  # by whether their tests depend on a clock that is not their own
FASTER = {"address-undefined": "test/sanitizers/memmove.cc"}  # linked into each program of a kind
# What takes much of a compiler's time: for what the address sanitizer tells of as well, what x86 does not mind, and variables
# that are used behind their block.
ONLY_LONG = "-fno-sanitize=null,alignment,object-size,vptr -fno-sanitize-address-use-after-scope"
ONLY_LONG_IN_TESTS = "-fno-sanitize=all"  # in the tests' own code; the engine has its own copies of inline functions
PRELOAD = {"address-undefined": "libasan.so", "thread": "libtsan.so"}
SYMBOLS = {"address-undefined": ("__asan_report", "__ubsan_handle"), "thread": ("__tsan_read",)}
MARK = re.compile(r"^# sanitizers:(.*)$", re.MULTILINE)
OPTIONS = {
    "ASAN_OPTIONS": "strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "second_deadlock_stack=1:history_size=4",
    # libpciaccess, behind hwloc's plugin for PCI, keeps its tables to the end of the process; by then the plugin has been
    # unloaded, so the leak has no name to suppress it by. Without the plugin hwloc asks the kernel's files.
    "HWLOC_PLUGINS_BLACKLIST": "hwloc_pci.so",
}
# Under mpirun Open MPI is in the process, which was not compiled for it and does not free everything at its end.
OPTIONS_OF_RANKS = {"ASAN_OPTIONS": OPTIONS["ASAN_OPTIONS"] + ":detect_leaks=0",
                    "TSAN_OPTIONS": OPTIONS["TSAN_OPTIONS"] + ":ignore_noninstrumented_modules=1"}
BY_SCRIPTS = ("contrib/programs/nezha_allreduce_bench",)  # what those in mpi run beside the programs of their folder


def preload_of(kind):
    return subprocess.run(["gcc", f"-print-file-name={PRELOAD[kind]}"], capture_output=True, text=True,
                          check=True).stdout.strip()


def runs_under(kind, text):
    mark = MARK.search(text)
    return bool(mark) and set(kind.split("-")).issubset(mark[1].split())


def fixed_addresses(kind):
    """The thread sanitizer of gcc 12 cannot map its shadow where the kernel spreads addresses widely."""
    return ["setarch", "-R"] if kind == "thread" and shutil.which("setarch") else []


def component_case(kind, build_dir):
    component = os.path.join(build_dir, "component", "mca_coll_nezha.so")
    symbols = subprocess.run(["nm", "-D", "--undefined-only", component], capture_output=True, text=True, check=False).stdout
    missing = [prefix for prefix in SYMBOLS[kind] if prefix not in symbols]
    return Case(f"the component is built for the {kind} sanitizer", FAILED if missing else PASSED, " ".join(missing))


def built(check, kind):
    """Builds for one kind what its tests need. Returns the cases of that."""
    build_dir = os.path.join(check.build_dir, kind)
    flags = "-O1 -g1"  # the tests' own code is not optimised: that would take longer than it saves
    cases = [build(check, kind, build_dir, f"--enable-sanitizer={kind}", f"CFLAGS={flags}", f"CXXFLAGS={flags}",
                   target="PRECOMPILED=standard libnezha_engine.la libnezha_sim.la")]
    if cases[0].outcome == PASSED:
        folders = (*FOLDERS[kind], *(("mpi",) if check.long else ()))
        cases.append(build_for(check, kind, build_dir, folders, "CXXFLAGS=-O0 -g1", "PRECOMPILED=googletest",
                               *ALSO.get(kind, ()), *(BY_SCRIPTS if check.long else ()), install=check.long))
    if cases[-1].outcome == PASSED and check.long:
        cases.append(component_case(kind, build_dir))
    return cases


def built_united(check, kind):
    """For a check that is not long: what the compiled tests of one kind need, of units of many sources. Returns the cases of
    that, and what was built."""
    build_dir = os.path.join(check.build_dir, kind)
    cases = [build(check, kind, build_dir, f"--enable-sanitizer={kind}", "CFLAGS=-Og -g1", f"CXXFLAGS=-Og -g1 {ONLY_LONG}",
                   target=CONFIGURED)]
    if cases[0].outcome != PASSED:
        return cases, None
    wanted = [name for folder in FOLDERS[kind] for name in make_list(build_dir, "tests", folder) if is_wanted(check, kind, name)]
    libraries = [name for name in programs_of(build_dir, FOLDERS[kind]) if name.endswith(".la")]
    united = United(check, build_dir, [*wanted, *libraries], FASTER.get(kind))
    return cases + united.make(kind, f"-O0 -g0 {ONLY_LONG_IN_TESTS}"), united


def is_wanted(check, kind, name):
    """Whether a test of `make check` is a compiled one that runs under this kind."""
    if name.endswith(".py") or (check.usual and name in PLAIN_ONLY):
        return False
    return name in ALSO.get(kind, ()) or name.split("/")[1] in FOLDERS[kind]


def compiled_tests(check, kind, folders, united=None):
    """The compiled tests of these folders that are to run under one kind."""
    env, label = dict(OPTIONS, NEZHA_SANITIZER=kind), f"{kind} sanitizer: "
    return [test for folder in folders
            for test in programs_to_run(check, os.path.join(check.build_dir, kind), folder, env, fixed_addresses(kind), label,
                                        united=united, wanted=lambda name: is_wanted(check, kind, name))]


def scripts(check, kind):
    env = dict(OPTIONS, NEZHA_SANITIZER=kind, **OPTIONS_OF_RANKS, NEZHA_PRELOAD=preload_of(kind))
    return scripts_to_run(check, os.path.join(check.build_dir, kind), "mpi", env, fixed_addresses(kind),
                          f"{kind} sanitizer: ", lambda text: runs_under(kind, text))


def prepare_sanitizers(check):
    """Builds for each kind, runs the tests whose only clock is their own, and returns the cases of that and the other tests."""
    cases, timeless, others = [], [], []
    for kind in FOLDERS if check.long else ALWAYS:
        made, united = (built(check, kind), None) if check.long else built_united(check, kind)
        cases += made
        if made[-1].outcome == PASSED:
            timeless += compiled_tests(check, kind, TIMELESS, united)
            others += compiled_tests(check, kind, TIMED, united) + (scripts(check, kind) if check.long else [])
    return cases + run_tests(timeless, check.jobs), others


def run_sanitizers(check, made):
    cases, tests = made
    return cases + run_tests(tests, check.jobs + 1)  # they wait for a fifth of their time, and nothing else is left to run
