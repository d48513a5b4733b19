# SPDX-License-Identifier: BSD-3-Clause
"""The part "ompi5": the tarball is built in a Debian 13, with its Open MPI 5.0, and the same tests run there: scripts of mpi
that are marked, or with --long most parts. If not with --long, the engine is the one that the check has built outside, since it
knows nothing of Open MPI."""

import os
import shutil

from nezha_check.debian import Debian, why_not
from nezha_check.results import FAILED, PASSED, SKIPPED, Case
from nezha_check.run import Test, run_logged, run_test
from nezha_check.tree import ALL, MARKED, make, tarball_of

SUITE = "trixie"
SOURCES, BUILD = "/src", "/build"  # in there
PARTS = ("mpi",)
LONG_PARTS = ("unit", "sim", "threads", "mpi", "lab")
ENGINE = ("libnezha_engine.la", ".libs/libnezha_engine.a")  # in the build directory
TIMEOUT = 3600  # what it takes on a busy machine is no failure


def command(check, debian, *options):
    """The argv that checks the sources in there."""
    only = [word for part in (LONG_PARTS if check.long else PARTS) for word in ("--only", part)]
    return debian.command(
        ["python3", "-m", "nezha_check", "--tree", SOURCES, "--jobs", str(check.jobs), *only, "--quick", "--no-install",
         *(["--scripts", ALL] if check.long else ["--scripts", MARKED, "--engine-is-there"]), *options],
        PYTHONPATH=f"{SOURCES}/contrib/python", PYTHONDONTWRITEBYTECODE="1", NEZHA_BUILD_DIR=BUILD)


def bring_engine(check, place):
    os.makedirs(os.path.join(place, ".libs"))
    for name in ENGINE:
        shutil.copy(os.path.join(check.build_dir, name), os.path.join(place, name))


def brought_up(check, debian):
    """Makes the other Debian where it is not there, and brings the tarball: what is wrong with that, as a case; None if
    nothing."""
    log = check.log("ompi5-debian")
    if not debian.make(log):
        return Case(f"debootstrap {SUITE}", SKIPPED, f"debootstrap failed, see {log}")
    status, make_log = make(check, check.build_dir, "ompi5-dist", "dist")
    if status != 0:
        return Case("make dist", FAILED, f"exit status {status}", make_log)
    # A tarball's files may be older than what an earlier one was built to: make would not see what has changed.
    shutil.rmtree(debian.root + BUILD, ignore_errors=True)
    if not debian.unpack(tarball_of(check), SOURCES, log, append=False):
        return Case("unpacking the tarball", FAILED, log=log)
    if not check.long:
        bring_engine(check, debian.root + BUILD)
    sets = ("tests", "training") if check.long else ("mpi",)
    if debian.run([f"{SOURCES}/contrib/install-packages", *sets], log, TIMEOUT) != 0:
        return Case("installing packages", FAILED, log=log)
    return None


def prepare_ompi5(check):
    """The other Debian with all that is to run compiled, or the case that says why there is none."""
    reason = why_not()
    if reason:
        return Case("Open MPI 5.0", SKIPPED, reason)
    debian = Debian(os.path.join(check.build_dir, SUITE), SUITE)
    wrong = brought_up(check, debian)
    if not wrong:  # what does not compile is told when the tests are to run
        run_logged(command(check, debian, "--prepare"), check.log("ompi5-build"), TIMEOUT)
    return wrong or debian


def run_ompi5(check, made):
    if isinstance(made, Case):
        return [made]
    cases = run_test(Test("Debian 13", command(check, made, "--tap"), check.log("ompi5"), TIMEOUT))
    return [Case("the tarball is unpacked in a Debian 13", PASSED), *cases]
