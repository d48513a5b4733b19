# SPDX-License-Identifier: BSD-3-Clause
"""RPMs of the tarball, built with the Open MPI in PATH: on Debian too, whose rpm knows of no installed package."""

import glob
import os
import re
import shutil

from nezha_check.results import FAILED, PASSED, SKIPPED, Case
from nezha_check.rpm_use import use_cases
from nezha_check.run import read_log, run_logged
from nezha_check.tree import MAKE_TIMEOUT, tarball_of

# What rpmlint says that is not mended, and why.
NOT_MENDED = {
    # An RPM system's own rpmbuild strips and compresses after %install; Debian's does not.
    "unstripped-binary-or-object", "manpage-not-compressed", "no-manual-page-for-binary",
    # Who distributes signs; groups and build roots are of the past; SPDX's names of licences are what Fedora wants.
    "no-signature", "no-packager-tag", "no-group-tag", "no-buildroot-tag", "invalid-license",
    # There is no address yet.
    "no-url-tag", "invalid-url",
    # Command and component are to be of one build; the summary tells whose component it is about.
    "requires-on-release", "name-repeated-in-summary",
    # A module of the lab that is a program in a checkout.
    "non-executable-script",
}
PACKAGES = ("nezha", "openmpi-nezha")


def rpm_cases(check):
    missing = [tool for tool in ("rpmbuild", "rpmlint") if shutil.which(tool) is None]
    if missing:
        return [Case("RPM", SKIPPED, f"{missing[0]} is not installed")]
    place, log = os.path.join(check.build_dir, "rpm"), check.log("packages-rpm")
    shutil.rmtree(place, ignore_errors=True)
    print(f"  RPM: {place}, log {log}", flush=True)
    prefix = os.path.dirname(os.path.dirname(shutil.which("mpicc")))
    words = [f"_topdir {place}", f"ompi_prefix {prefix}", "_docdir /usr/share/doc", f"_smp_mflags -j{check.jobs}"]
    defines = [word for definition in words for word in ("--define", definition)]
    status = run_logged(["rpmbuild", "-ta", "--nodeps", *defines, tarball_of(check)], log, MAKE_TIMEOUT)
    made = glob.glob(os.path.join(place, "RPMS", "*", "*.rpm"))
    names = sorted(re.sub(r"-\d.*", "", os.path.basename(path)) for path in made)
    built = status == 0 and set(PACKAGES) <= set(names)
    cases = [Case("RPM: the packages are built", PASSED if built else FAILED, f"exit status {status}, made {names}", log)]
    if built:
        lint_log = check.log("packages-rpmlint")
        run_logged(["rpmlint", *made, *glob.glob(os.path.join(place, "SRPMS", "*.rpm"))], lint_log, MAKE_TIMEOUT)
        said = set(re.findall(r": [EW]: (\S+)", read_log(lint_log))) - NOT_MENDED
        cases.append(Case("RPM: rpmlint has nothing to say", FAILED if said else PASSED, " ".join(sorted(said)), lint_log))
        test = os.path.join(check.top, "debian", "tests", "allreduce")
        cases += use_cases(made, test, os.path.join(place, "used"), check.log("packages-rpm-use"))
        shutil.rmtree(place)
    return cases
