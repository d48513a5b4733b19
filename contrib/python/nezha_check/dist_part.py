# SPDX-License-Identifier: BSD-3-Clause
"""The part "dist": other configurations, the developer's guide's examples, and the tarball that a release is."""

import os
import shutil

from nezha_check.build_part import judged, output_of
from nezha_check.run import run_tests
from nezha_check.tree import make, scripts_to_run

# Of a name of its own, since others may use the tarball that `make dist` leaves in the same place.
DIRECTORY = "distcheck-nezha"


def distcheck_cases(check):
    """The tarball builds, installs and uninstalls by itself, and lacks no file that the checkout has.

    No tests are compiled there, and one is run: the other parts do that. That it has their sources too is looked up.
    """
    status, log = make(check, check.build_dir, "distcheck", "distcheck", f"distdir={DIRECTORY}", "TESTS=test/layers_check.py",
                       "check_PROGRAMS=", "PRECOMPILED=standard", "DISTCHECK_CONFIGURE_FLAGS=CFLAGS=-O0 CXXFLAGS=-O0")
    yield judged("make distcheck", "" if status == 0 else f"exit status {status}", log)
    tracked = output_of("git", "-C", check.top, "ls-files").splitlines() if shutil.which("git") else []
    if tracked and status == 0:
        tarball = os.path.join(check.build_dir, f"{DIRECTORY}.tar.gz")
        packed = {name.partition("/")[2] for name in output_of("tar", "tf", tarball).splitlines()}
        missing = [name for name in tracked if name not in packed and name != ".gitignore"]
        yield judged("the tarball has every tracked file", " ".join(missing[:5]))


def prepare_dist(check):
    """All of it: how long it takes means nothing here."""
    return [*run_tests(scripts_to_run(check, check.build_dir, "build"), check.jobs), *distcheck_cases(check)]
