# SPDX-License-Identifier: BSD-3-Clause
"""The command line of contrib/check: runs the parts, times them, and sums up."""

import argparse
import collections.abc
import dataclasses
import fcntl
import os
import resource
import signal
import subprocess
import sys
import time

from nezha_check.background import Background
from nezha_check.build_part import run_build
from nezha_check.dist_part import prepare_dist
from nezha_check.formats import TAP_UNSTEADY
from nezha_check.fuzz_part import prepare_fuzz, run_fuzz
from nezha_check.guest_part import run_guest
from nezha_check.ompi5_part import prepare_ompi5, run_ompi5
from nezha_check.packages_part import run_packages
from nezha_check.results import FAILED, PASSED, SKIPPED, count, failures_of_skips, in_words
from nezha_check.run import Test, run_test, run_tests
from nezha_check.sanitizer_part import prepare_sanitizers, run_sanitizers
from nezha_check.tree import (ALL, BOTH_SERIES, MARKED, PROGRAM_TIMEOUT, TAKES_LONG, USUAL, Check, programs_to_run, runs_plain,
                              scripts_to_run)


def run_layers(check):
    script = os.path.join(check.top, "test", "layers_check.py")
    return run_test(Test("test/layers_check.py", [sys.executable, script], check.log("layers"), PROGRAM_TIMEOUT))


def compiled(folder):
    """The tests of `make check` in a folder: of the compiled ones a usual check runs most in the part "sanitizers" only."""
    def run(check):
        return run_tests(programs_to_run(check, check.build_dir, folder, united=check.united,
                                         wanted=lambda name: runs_plain(check, name)), check.jobs)

    return run


def scripted(folder, more=0):
    """`more`: tests beyond the usual number at once, since they wait for networks and timeouts half of their time."""
    return lambda check: run_tests(scripts_to_run(check, check.build_dir, folder), check.jobs + more)


def prepare_sim(check):
    """All of it: these worlds have a clock of their own."""
    return compiled("sim")(check) + scripted("sim")(check)


def told(check, cases):
    """A part that the background has done whole."""
    return cases


QUICK, NORMAL, LONG = range(3)


@dataclasses.dataclass(frozen=True)
class Part:
    """`run` takes the Check, and behind it what `prepare`, if there is one, has returned in the background: what takes much
    time and depends on none."""

    what: str
    run: collections.abc.Callable
    packages: str  # the set of contrib/install-packages that it needs
    least: int = QUICK  # the shortest length of a check that has it
    prepare: collections.abc.Callable = None


PARTS = {
    "build": Part("configure, make, install", run_build, "build"),
    "layers": Part("who may include whom", run_layers, "build"),
    "unit": Part("unit tests of each layer", compiled("unit"), "unit"),
    "threads": Part("ranks as threads over loopback", compiled("threads"), "unit"),
    "mpi": Part("mpirun on this host", scripted("mpi", 1), "tests"),
    "programs": Part("other people's programs, with and without the component", scripted("programs"), "programs"),
    "lab": Part("the emulated cluster and the bench", scripted("lab", 2), "tests"),
    "sim": Part("whole engines on simulated rails, with faults, on a virtual clock", told, "unit", QUICK, prepare_sim),
    "ompi5": Part("Open MPI 5.0, in a Debian 13: scripts of mpi that are marked for it; with --long most parts", run_ompi5, "debians", NORMAL, prepare_ompi5),
    "dist": Part("other configurations, the developer's examples, distcheck", told, "tests", LONG, prepare_dist),
    "packages": Part("packages built, used and purged: Debian's in a Debian 12 and 13, RPMs over this system",
                     run_packages, "debians", LONG),
    "sanitizers": Part("address and undefined behaviour sanitizer; with --long also the thread sanitizer, and mpi",
                       run_sanitizers, "unit", NORMAL, prepare_sanitizers),
    "guest": Part("RDMA devices of network namespaces, in a virtual machine with another kernel", run_guest, "guest", LONG),
    "fuzz": Part("fuzz targets", run_fuzz, "fuzz", LONG, prepare_fuzz),
}
OWN_BUILDS = {"layers", "sanitizers", "fuzz"}  # these use nothing of what "build" leaves
WHOLE_IN_CI = {"build", "mpi", "programs", "lab", "fuzz"}  # where CI is set nothing of these is skipped; mpi uses the lab too


def options():
    lines = "\n".join(f"  {name:<11} {part.what}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="contrib/check", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Builds Nezha in build/check (or NEZHA_BUILD_DIR) and runs its tests: what a landing needs; --long: all of them.\n"
                    "Without options most compiled tests run sanitized only; test/README.md says what is in which check.",
        epilog=f"parts:\n{lines}\n\nLogs are in the build directory's logs/. With CI set, "
               "a skipped test of what uses the lab or other programs has failed. A test that fails and is "
               "no simulation is run once more; what passes then is listed, since it may be a rare fault.")
    parser.add_argument("--only", metavar="PART", action="append", choices=PARTS,
                        help="run this part only, after the build if it needs one; may be repeated")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="how much runs at once")
    parser.add_argument("--prepare", action="store_true",
                        help="make what the parts need that use the build, and run no test of theirs")
    parser.add_argument("--scripts", choices=(MARKED, USUAL, ALL), default=USUAL,
                        help=f"of the scripts with mpirun those that have a line '{BOTH_SERIES}', or all but those that have "
                        f"a line '{TAKES_LONG}' (the default), or all, as with --long")
    parser.add_argument("--no-install", action="store_true", help="install no packages of the distribution")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true",
                        help="no Open MPI 5.0 and no sanitizers, and a short simulation")
    length.add_argument("--long", action="store_true", help="all parts, nearly two million simulated operations, mutations, "
                        "5 minutes of fuzzing per target, and the long form of other tests that have one: some hours")
    parser.add_argument("--tap", action="store_true", help="list all cases at the end, in the Test Anything Protocol")
    parser.add_argument("--engine-is-there", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--tree", default=os.getcwd(), help=argparse.SUPPRESS)
    return parser.parse_args()


def wanted_parts(given):
    if given.prepare:
        return ["build"]
    if given.only:
        needed = set(given.only) if OWN_BUILDS.issuperset(given.only) else {"build", *given.only}
        return [name for name in PARTS if name in needed]
    length = QUICK if given.quick else LONG if given.long else NORMAL
    return [name for name, part in PARTS.items() if part.least <= length]


def install(names, top):
    """Installs what these parts need. Where that fails they run with what there is, and skip what needs the rest."""
    sets = sorted({PARTS[name].packages for name in names})
    if subprocess.run([os.path.join(top, "contrib", "install-packages"), *sets], check=False).returncode != 0:
        print("Going on with what there is: what needs the rest will be skipped.", flush=True)


def processor_time():
    """Seconds of processor time of all children that have ended: what a part costs also where others slow it down."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_part(check, name, background):
    """Runs one part, says how long it took, and returns its cases."""
    part = PARTS[name]
    print(f"== {name}: {part.what}", flush=True)
    started, used = time.monotonic(), processor_time()
    cases = part.run(check, background.result(name)) if part.prepare else part.run(check)
    if os.environ.get("CI") and name in WHOLE_IN_CI:
        cases = failures_of_skips(cases)
    for case in cases:
        case.name = f"{name}: {case.name}"
    result = in_words(cases) if cases else "has no tests yet"
    print(f"== {name}: {result}, {time.monotonic() - started:.0f} s, {processor_time() - used:.0f} s of processor time\n",
          flush=True)
    return cases


def run_parts(check, names, background):
    """Runs these parts and returns their cases. What is made in the background begins behind the build, which leaves no
    processor idle."""
    cases, rest = [], list(names)
    if rest[0] == "build":
        cases += run_part(check, rest.pop(0), background)
        if any(case.outcome == FAILED for case in cases[:2]):
            print("Nothing else can run without the build.")
            return cases
    background.start({name: PARTS[name].prepare for name in rest if PARTS[name].prepare})
    return cases + [case for name in rest for case in run_part(check, name, background)]


def report(cases):
    """Lists skips, what passed only at its second chance, and failures, and ends with the line that sums up."""
    for title, found in (("Skipped", [case for case in cases if case.outcome == SKIPPED]),
                         ("Passed only when run again", [case for case in cases if case.unsteady]),
                         ("Failed", [case for case in cases if case.outcome == FAILED])):
        if found:
            print(f"{title}:")
        for case in found:
            print(f"  {case.name}: {case.reason or 'see the log'}{f' [{case.log}]' if case.outcome != SKIPPED else ''}")
    print(f"{count(cases, PASSED)} passed, {count(cases, FAILED)} failed, {count(cases, SKIPPED)} skipped", flush=True)


def print_tap(cases):
    print(f"1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        skip = f" # SKIP {case.reason}" if case.outcome == SKIPPED else ""
        print(f"{'not ok' if case.outcome == FAILED else 'ok'} {number} - {case.name.replace('#', '')}{skip}")
        if case.outcome == FAILED:
            print(f"# {case.reason} [{case.log}]")
        elif case.unsteady:
            print(f"{TAP_UNSTEADY}{case.reason}")


def interrupted(number, frame):
    raise KeyboardInterrupt


def main():
    given = options()
    build_dir = os.path.abspath(os.environ.get("NEZHA_BUILD_DIR") or os.path.join(given.tree, "build", "check"))
    only = () if "build" in (given.only or ("build",)) else tuple(given.only)
    check = Check(given.tree, build_dir, max(1, given.jobs), given.quick, given.long, given.scripts, only, given.engine_is_there)
    os.makedirs(build_dir, exist_ok=True)
    signal.signal(signal.SIGTERM, interrupted)
    with open(os.path.join(build_dir, ".lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"contrib/check: another check is running in {build_dir}; name another directory by NEZHA_BUILD_DIR")
        names = wanted_parts(given)
        if not given.no_install:
            install(names, given.tree)
        started = time.monotonic()
        with Background(check) as background:
            cases = run_parts(check, names, background)
        print(f"{time.monotonic() - started:.0f} s, {processor_time():.0f} s of processor time\n")
        report(cases)
        if given.tap:
            print_tap(cases)
    sys.exit(0 if count(cases, PASSED) and not count(cases, FAILED) else 1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("contrib/check: interrupted")
