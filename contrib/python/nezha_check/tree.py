# SPDX-License-Identifier: BSD-3-Clause
"""The checkout under test, its build directories, and the tests found in them."""

import contextlib
import dataclasses
import glob
import os
import subprocess
import sys
import time

from nezha_check.results import FAILED, PASSED, Case
from nezha_check.run import Test, read_log, run_logged

MAKE_TIMEOUT = 1800
# Of a test; some are given only the time that others leave.
PROGRAM_TIMEOUT = 1800
SCRIPT_TIMEOUT = 1800
LONG_SCRIPT_TIMEOUT = 4 * 3600
# Where mpirun, real networks and the machine's time take part, whose rare accidents are not ours (Open MPI 4.1 loses help
# texts, a virtual machine stands still for a second), a test that fails runs once more; what passes then is listed as unsteady.
# Elsewhere each failure is final.
SECOND_CHANCE = {"unit", "threads", "mpi", "programs", "lab"}
# What takes more than a minute: begun last, it would leave processors idle.
BEGIN_FIRST = {"test/threads/test_aggregator", "test/threads/test_aggregator_tree", "test/threads/test_allreduce",
               "test/lab/test_aggregator.py", "test/lab/test_aggregator_tree.py", "test/lab/test_command_report.py",
               "test/lab/test_doctor.py", "test/lab/test_figures.py", "test/lab/test_guides.py", "test/mpi/test_faults.py",
               "test/mpi/test_moving_rails.py", "test/mpi/test_nonblocking.py", "test/mpi/test_ofi_rails.py",
               "test/mpi/test_one_node.py", "test/mpi/test_operations.py", "test/mpi/test_parameters.py",
               "test/mpi/test_siblings.py"}
# Lines of scripts: the subject depends on Open MPI's series, so that a check that is not long runs it on both; or it takes
# long for what it finds, so that only a long check runs it.
BOTH_SERIES, TAKES_LONG = "# both series", "# long"
# Which scripts run: those for both series, all but those that take long, all.
MARKED, USUAL, ALL = "marked", "usual", "all"


@dataclasses.dataclass
class Check:
    """What the command line says: where things are and how long one may take."""

    top: str
    build_dir: str
    jobs: int
    quick: bool
    long: bool
    scripts: str = USUAL  # which of those with mpirun
    only: tuple = ()  # where test programs of these parts are all that is needed, their names
    engine_is_there: bool = False  # in the build directory, made elsewhere
    united: object = None  # the compiled tests of the build, where they are made of units of many sources

    @property
    def usual(self):
        """Whether it is neither short nor long, nor about single parts: then most compiled tests run sanitized only."""
        return not (self.quick or self.long or self.only)

    def log(self, name):
        return os.path.join(self.build_dir, "logs", f"{name}.log")

    def test_log(self, label, name):
        """Of the test `name`, a path; `label` tells apart where it runs more than once."""
        return self.log(f"{label.strip().replace(' ', '-')}{name.replace('/', '-')}")

    def script_env(self, build_dir, **more):
        """The environment of a test: where the build is, where the component is, where our Python modules are."""
        env = dict(os.environ, NEZHA_BUILD_DIR=build_dir, NEZHA_COMPONENT_DIR=os.path.join(build_dir, "component"),
                   PYTHONPATH=os.path.join(self.top, "contrib", "python"), PYTHONDONTWRITEBYTECODE="1",
                   OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        env["NEZHA_CHECK"] = "1"
        if self.quick:
            env["NEZHA_QUICK"] = "1"
        if self.long:
            env["NEZHA_LONG"] = "1"
        env.update(more)
        return env


def build(check, name, build_dir, *options, target="", precompiled=False):
    """Configures, makes and installs in `build_dir`, or makes only `target`; `precompiled`: with headers of the standard
    library that are parsed once. Returns the one case of it."""
    log = check.log(f"build-{name}")
    env = dict(os.environ, JOBS=str(check.jobs), NEZHA_TARGET=target, **({"PRECOMPILED": "standard"} if precompiled else {}))
    command = [os.path.join(check.top, "contrib", "build"), build_dir, *EVERYTHING, *LITTLE_DEBUGGED, *options]
    with _told(f"build {name}"):
        status = run_logged(command, log, MAKE_TIMEOUT, env)
    if status == 0:
        return Case(f"build {name}", PASSED)
    lines = read_log(log).strip().splitlines() or [f"status {status}"]
    errors = [line for line in lines if "error:" in line or "*** No rule" in line]
    return Case(f"build {name}", FAILED, (errors or lines[-1:])[0], os.path.join(build_dir, "build.log"))


@contextlib.contextmanager
def _told(what):
    """Says what takes so long, and how long it took."""
    print(f"  {what} ...", flush=True)
    started = time.monotonic()
    yield
    print(f"  {what}: {time.monotonic() - started:.0f} s", flush=True)


def make(check, build_dir, log_name, *arguments, env=None):
    """Runs make in a build directory and returns (exit status, log)."""
    log = check.log(log_name)
    return run_logged(["make", "-C", build_dir, f"-j{check.jobs}", *arguments], log, MAKE_TIMEOUT, env), log


# Variables of make for the tests' own code: to optimise it further would take longer than it saves; less makes the simulator's
# worlds and the ranks that are threads twice as slow.
LITTLE_OPTIMIZED = ("CXXFLAGS=-O1 -g1", "PRECOMPILED=googletest")

# Vectors come and go by the thousand: memory that a program keeps need not be cleared by the kernel again. Without this a
# third of the time of the simulator's tests, and of those of ranks that are threads, goes there.
KEEPS_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 28), "MALLOC_TRIM_THRESHOLD_": str(1 << 29)}

# Variables of configure: all that debuggers can be told makes a compiler a sixth slower, and takes most of the time in which each
# of the tests' programs is linked with the engine.
LITTLE_DEBUGGED = ("CFLAGS=-O2 -g1", "CXXFLAGS=-O2 -g1")

# What is not in a build unless it is asked for.
EVERYTHING = ("--with-sharp",)

FOLDERS = ("unit", "threads", "sim", "mpi", "programs")  # of compiled tests
# Whose test programs a part runs beside its own: the developer's guide, whose commands are tested, has the simulator's.
ALSO_NEEDED = {"lab": ("sim",)}
# What a part's tests run or read beside the programs of its folder.
ALSO_RUN = {"unit": ("contrib/programs/parameters_page", "nezha-parameters.7"), "threads": ("test/sharp/stub.la",),
            "mpi": ("test/sharp/stub.la", "nezha-aggregate"), "lab": ("test/sharp/stub.la",)}
# Parts that need neither the component nor Open MPI.
ENGINE_PARTS = {"layers", "unit", "threads", "sim"}
# Compiled tests that a usual check runs without a sanitizer too: scripts start the simulator; the other goes over all
# operations, types and sizes, of which there are fewer under a sanitizer.
PLAIN_TOO = ("test/sim/sim_run", "test/threads/test_allreduce")
# Those that it runs so alone, and a part of them: a sanitizer makes them five times slower, and sees the same code in others.
PLAIN_ONLY = ("test/sim/test_failover", "test/sim/test_flapping")


def needs_engine_only(check):
    return bool(check.only) and ENGINE_PARTS.issuperset(check.only)


def build_test_programs(check, name, build_dir):
    """Compiles the test programs of a build directory without running them, all or those of check.only; the simulator is
    optimised like the engine."""
    simulator = made(check, name, build_dir, "sim", "libnezha_sim.la")
    if simulator.outcome == FAILED:
        return simulator
    if check.only:
        folders = {*check.only, *(folder for part in check.only for folder in ALSO_NEEDED.get(part, ()))}
        return build_for(check, name, build_dir, sorted(folders), *LITTLE_OPTIMIZED)
    if not check.usual:
        return made(check, name, build_dir, "tests", "check", "TESTS=", *LITTLE_OPTIMIZED)
    return build_for(check, name, build_dir, FOLDERS, *LITTLE_OPTIMIZED, install=False)


def test_build_logs(check, name):
    """What build_test_programs() writes to, in turn."""
    return [check.log(f"build-{name}-{what}") for what in ("sim", "tests")]


def made(check, name, build_dir, what, *arguments):
    """The one case of a make for tests."""
    with _told(f"build {name}, {what}"):
        status, log = make(check, build_dir, f"build-{name}-{what}", *arguments)
    return Case(f"build {name} tests", PASSED if status == 0 else FAILED, "" if status == 0 else "make failed", log)


def tarball_of(check):
    """What `make dist` has made in the build directory."""
    return max(glob.glob(os.path.join(check.build_dir, "nezha-*.tar.gz")), key=os.path.getmtime)


def make_list(build_dir, what, folder):
    """Of what `make print-WHAT` lists that which lies under test/FOLDER/, by path."""
    names = subprocess.run(["make", "-C", build_dir, "-s", "--no-print-directory", f"print-{what}"], check=True,
                           capture_output=True, text=True).stdout.split()
    return [name for name in names if name.startswith(f"test/{folder}/")]


def runs_plain(check, name):
    """Whether the check runs this test of `make check` in a build without a sanitizer."""
    return not check.usual or name in PLAIN_TOO + PLAIN_ONLY or name.endswith(".py")


def programs_of(build_dir, folders):
    """What has to be made for the tests of these folders."""
    return [name for folder in folders for name in (*make_list(build_dir, "programs", folder), *ALSO_RUN.get(folder, ()))]


def build_for(check, name, build_dir, folders, *variables, install=True):
    """Compiles what the tests of these folders need, and no more, and installs the component, if asked. `variables`: of
    make."""
    not_run = {name for folder in folders for name in make_list(build_dir, "tests", folder) if not runs_plain(check, name)}
    programs = [name for name in programs_of(build_dir, folders) if name not in not_run]
    return made(check, name, build_dir, "tests", *(("install-component",) if install else ()), *variables, *programs)


def programs_to_run(check, build_dir, folder, env=None, prefix=(), label="", united=None, wanted=lambda name: True):
    """The tests of `make check` under test/FOLDER/ that are `wanted`, compiled ones and scripts. `united`: what the compiled ones
    were built as, if not each as a program of its own."""
    def command(name):
        if name.endswith(".py"):
            return [sys.executable, os.path.join(check.top, name)]
        return united.command(name) if united else [os.path.join(build_dir, name)]

    def env_of(name):
        hurry = {"NEZHA_HURRY": "1"} if check.usual and name in PLAIN_ONLY else {}
        return check.script_env(build_dir, **KEEPS_MEMORY, **hurry, **(env or {}))

    return [Test(f"{label}{name}", [*prefix, *command(name)],
                 check.test_log(label, name), PROGRAM_TIMEOUT, env_of(name), build_dir, folder in SECOND_CHANCE, name in BEGIN_FIRST)
            for name in make_list(build_dir, "tests", folder) if wanted(name)]


def _chosen(check, lines):
    if check.scripts == MARKED:
        return BOTH_SERIES in lines
    return check.scripts == ALL or check.long or TAKES_LONG not in lines


def scripts_to_run(check, build_dir, folder, env=None, prefix=(), label="", wanted=lambda text: True):
    """The scripts test/FOLDER/test_*.py, TAP or unittest, whose text is `wanted`."""
    unittest_runner = os.path.join(check.top, "contrib", "python", "nezha_lab", "tap.py")
    tests = []
    for path in sorted(glob.glob(os.path.join(check.top, "test", folder, "test_*.py"))):
        text = read_log(path)
        if wanted(text) and _chosen(check, text.splitlines()):
            name = os.path.relpath(path, check.top)
            command = [*prefix, sys.executable, *([unittest_runner] if "unittest.main()" in text else []), path]
            timeout = LONG_SCRIPT_TIMEOUT if check.long else SCRIPT_TIMEOUT
            tests.append(Test(f"{label}{name}", command, check.test_log(label, name), timeout,
                              check.script_env(build_dir, **(env or {})), check.top, folder in SECOND_CHANCE, name in BEGIN_FIRST))
    return tests
