# SPDX-License-Identifier: BSD-3-Clause
"""The part "ompi5": the tarball is built in a Debian 13, with its Open MPI 5.0, and the same tests run there."""

import os
import shutil

from nezha_check.debian import Debian, why_not
from nezha_check.results import FAILED, PASSED, SKIPPED, Case
from nezha_check.run import Test, run_test
from nezha_check.tree import make, tarball_of

SUITE = "trixie"
SOURCES, BUILD = "/src", "/build"  # in there
PARTS = ("unit", "mpi", "lab")
TIMEOUT = 3600  # what it takes on a busy machine is no failure


def prepare(check, debian):
    """Makes the other Debian, or brings it up to date: what is wrong with that, as a case; None if nothing."""
    log = check.log("ompi5-debian")
    print(f"  {debian.root}, log {log}", flush=True)
    if not debian.make(log):
        return Case(f"debootstrap {SUITE}", SKIPPED, f"debootstrap failed, see {log}")
    status, make_log = make(check, check.build_dir, "ompi5-dist", "dist")
    if status != 0:
        return Case("make dist", FAILED, f"exit status {status}", make_log)
    # A tarball's files may be older than what an earlier one was built to: make would not see what has changed.
    shutil.rmtree(debian.root + BUILD, ignore_errors=True)
    if not debian.unpack(tarball_of(check), SOURCES, log):
        return Case("unpacking the tarball", FAILED, log=log)
    if debian.run([f"{SOURCES}/contrib/install-packages", "tests"], log, TIMEOUT) != 0:
        return Case("installing packages", FAILED, log=log)
    return None


def run_ompi5(check):
    reason = why_not()
    if reason:
        return [Case("Open MPI 5.0", SKIPPED, reason)]
    debian = Debian(os.path.join(check.build_dir, SUITE), SUITE)
    wrong = prepare(check, debian)
    if wrong:
        return [wrong]
    only = [word for part in PARTS for word in ("--only", part)]
    command = debian.command(
        ["python3", "-m", "nezha_check", "--tree", SOURCES, "--tap", "--jobs", str(check.jobs), *only, "--quick"],
        PYTHONPATH=f"{SOURCES}/contrib/python", PYTHONDONTWRITEBYTECODE="1", NEZHA_BUILD_DIR=BUILD)
    cases = run_test(Test("Debian 13", command, check.log("ompi5"), TIMEOUT))
    return [Case("the tarball is unpacked in a Debian 13", PASSED), *cases]
