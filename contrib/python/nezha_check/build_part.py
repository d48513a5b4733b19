# SPDX-License-Identifier: BSD-3-Clause
"""The part "build": the build itself, and what must be true of what it made and installed."""

import glob
import os
import platform
import re
import subprocess

from nezha_check.results import FAILED, PASSED, SKIPPED, Case
from nezha_check.run import read_log
from nezha_check.tree import (LITTLE_OPTIMIZED, build, build_for, build_test_programs, make, make_list, needs_engine_only,
                              programs_of, test_build_logs)
from nezha_check.united_build import CONFIGURED, United
from nezha_lab import openmpi

SHARED_RUNTIME = re.compile(r"lib(stdc\+\+|gcc_s)\.so")


def judged(name, complaint, log=""):
    """A case that fails with `complaint`, or passes where there is none."""
    return Case(name, FAILED if complaint else PASSED, complaint, log)


def output_of(*command, env=None):
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False).stdout


def warnings(check):
    """Compiler warnings of the builds just made."""
    log = os.path.join(check.build_dir, "build.log")
    logs = [log, *filter(os.path.exists, test_build_logs(check, "default"))]  # where one failed there is no next one
    found = [line for file in logs for line in read_log(file).splitlines() if "warning:" in line]
    return judged("compiles without a warning", "; ".join(found[:3]), log)


def component_cases(check):
    """What Open MPI will load: one symbol, no shared C++ runtime, nothing but it and its help text installed."""
    directory = os.path.join(check.build_dir, "component")
    component = os.path.join(directory, "mca_coll_nezha.so")
    names = sorted(os.listdir(directory))
    expected = ["help-coll-nezha.txt", "mca_coll_nezha.so"]
    yield judged("installs component and help text, nothing else", "" if names == expected else f"found {names}")
    symbols = [line.split()[-1] for line in output_of("nm", "-D", "--defined-only", component).splitlines()]
    yield judged("exports its component structure only",
                 "" if symbols == ["mca_coll_nezha_component"] else f"exports {symbols}")
    shared = SHARED_RUNTIME.findall(output_of("readelf", "-d", component))
    yield judged("brings its own C++ runtime", f"needs {shared}" if shared else "")
    env = dict(os.environ, **openmpi.component_path(directory))
    listed = "MCA coll: nezha" in output_of("ompi_info", env=env)
    yield judged("ompi_info lists it", "" if listed else "no 'MCA coll: nezha' in ompi_info's output")


def kernels_case(check):
    """Code for newer processors must not define what others define too (inline functions of headers): the linker keeps
    one copy of those, and on an older processor that copy would be an illegal instruction."""
    shared = []
    libraries = glob.glob(os.path.join(check.build_dir, ".libs", "libnezha_kernels_avx*.a"))
    if not libraries and platform.machine() == "x86_64":
        return judged("kernels share no code with the baseline", "there are no kernels for newer processors")
    for library in libraries:
        symbols = [line.split() for line in output_of("nm", "-C", library).splitlines()]
        shared += [words[2] for words in symbols if len(words) > 2 and words[1] in "WVu"]
    return judged("kernels share no code with the baseline", " ".join(shared[:3]))


def googletest_cases(check):
    """Without googletest configure leaves its tests out."""
    if all(name.endswith(".py") for name in make_list(check.build_dir, "tests", "unit")):
        yield Case("tests that use googletest", SKIPPED, "it is not installed (libgtest-dev)")


def uninstall_case(check):
    """`make install` and `make uninstall` at another place leave nothing behind."""
    place = os.path.join(check.build_dir, "staging")
    for target in ("install", "uninstall"):
        status, log = make(check, check.build_dir, target, target, f"DESTDIR={place}")
        if status != 0:
            return judged("uninstall", f"make {target} failed", log)
    left = [os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names]
    return judged("uninstall leaves nothing", " ".join(left))


def build_simulator(check):
    """The cases of a build of the engine and of what the tests of check.only need; the simulator's mutants are made of its
    objects."""
    engine = build(check, "engine", check.build_dir, target="libnezha_engine.la libnezha_sim.la", precompiled=True)
    if engine.outcome == FAILED:
        return [engine]
    return [engine, build_for(check, "engine", check.build_dir, check.only, *LITTLE_OPTIMIZED, install=False)]


def build_united(check):
    """The same where the engine can be made of units of many sources, and be optimised little."""
    flags = "-O1 -g1"
    configured = build(check, "engine", check.build_dir, f"CFLAGS={flags}", f"CXXFLAGS={flags}", target=CONFIGURED)
    if configured.outcome == FAILED:
        return [configured]
    check.united = United(check, check.build_dir, programs_of(check.build_dir, check.only))
    return [configured, *check.united.make("engine", flags)]


def build_component(check):
    """The cases of a build around an engine that was made elsewhere: the engine knows nothing of Open MPI."""
    component = build(check, "component", check.build_dir, target="-o libnezha_engine.la install-component")
    if component.outcome == FAILED:
        return [component]
    programs = build_for(check, "component", check.build_dir, check.only, "-o", "libnezha_engine.la", install=False)
    return [component, programs, *component_cases(check)]


def run_build(check):
    """Builds everything, or what a few parts need; the other parts use what this one leaves in the build directory."""
    if needs_engine_only(check):
        return build_simulator(check) if "sim" in check.only else build_united(check)
    if check.engine_is_there:
        return build_component(check)
    cases = [build(check, "default", check.build_dir, precompiled=not check.long)]
    if cases[0].outcome == PASSED:
        cases.append(build_test_programs(check, "default", check.build_dir))
        cases.append(warnings(check))
        cases.extend(component_cases(check))
        cases.append(kernels_case(check))
        cases.extend(googletest_cases(check))
        cases.append(uninstall_case(check))
    return cases
