# SPDX-License-Identifier: BSD-3-Clause
"""RPMs, used: installed over this machine's own system, whose Open MPI they were built for, and erased again.

That is done in a namespace in which all that is written stays in memory, so the machine itself never has them.
"""

import functools
import os
import re
import shutil
import subprocess
import sys

from nezha_check.results import FAILED, PASSED, SKIPPED, Case
from nezha_check.run import read_log, run_logged

TIMEOUT = 600
STEPS = ("they are installed", "their files are as packed", "their own test", "they are erased", "erasing leaves nothing")
_DONE = "done: "

# $1: an empty directory, $2: the test; the rest: the packages. --nodeps, since rpm knows of no package where another
# manager installed them: needs() looks for what they ask for itself.
_SCRIPT = """
place=$1 test=$2
shift 2
mount -t tmpfs tmpfs "$place"
cp "$test" "$place/test"
mkdir "$place/written" "$place/work" "$place/root"
mount -t overlay -o "lowerdir=/,upperdir=$place/written,workdir=$place/work" overlay "$place/root"
mount -t proc proc "$place/root/proc"
mount --rbind /sys "$place/root/sys"
mount --rbind /dev "$place/root/dev"
for own in run tmp; do mount -t tmpfs tmpfs "$place/root/$own"; done
ours() { rpm --root "$place/root" --define '_dbpath /run/rpm' "$@"; }
ours -i --nodeps "$@"
echo "done: they are installed"
ours -Va --nodeps
echo "done: their files are as packed"
ours -Va | grep 'is needed by' || :
cp "$place/test" "$place/root/tmp/test"
chroot "$place/root" sh /tmp/test
echo "done: their own test"
ours -e --nodeps $(ours -qa)
echo "done: they are erased"
left=$(cd "$place/written" && find . -not -type d -o -path '*nezha*')
echo "left behind: $left"
test -z "$left"
echo "done: erasing leaves nothing"
"""


def use_cases(packages, test, place, log):
    """`test`: a shell script that uses what is installed; `place`: a directory that is made and removed."""
    if os.geteuid() != 0:
        return [Case("RPM: used", SKIPPED, "only root can install packages")]
    with open("/proc/filesystems", encoding="ascii") as known:
        if "overlay" not in known.read().split():
            return [Case("RPM: used", SKIPPED, "this kernel has no overlay file system")]
    os.makedirs(place)
    status = run_logged(["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--", "sh", "-ec", _SCRIPT, "sh", place, test,
                         *packages], log, TIMEOUT, dict(os.environ, LC_ALL="C.UTF-8"))
    shutil.rmtree(place)
    text = read_log(log)
    done = [step for step in STEPS if f"{_DONE}{step}\n" in text]
    cases = [Case(f"RPM: {step}", PASSED) for step in done]
    if status != 0:
        cases.append(Case(f"RPM: {STEPS[len(done)]}" if len(done) < len(STEPS) else "RPM: used", FAILED, f"exit status {status}", log))
    if STEPS[1] in done:
        unmet = [need for need in needs(text) if not is_here(need)]
        cases.append(Case("RPM: they ask for what is here", FAILED if unmet else PASSED, "; ".join(unmet), log))
    return cases


def needs(text):
    """What rpm -Va says that packages need and none of its packages has."""
    return sorted(set(re.findall(r"^\s+(\S.*) is needed by \(installed\)", text, re.MULTILINE)))


def is_here(need):
    """Whether this machine has it all the same, whoever installed it."""
    if need.startswith("/"):
        return os.path.exists(need)
    if need.startswith("rtld("):
        return True  # a way of linking that every system of today has
    python = re.fullmatch(r"python3 >= (\d+)\.(\d+)", need)
    if python:
        return sys.version_info >= (int(python[1]), int(python[2]))
    library = re.match(r"(lib|ld-)[^()\s]+\.so[^()\s]*", need)
    return bool(library) and f"\t{library[0]} " in libraries()


@functools.cache
def libraries():
    """What the dynamic linker knows, as ldconfig lists it."""
    return subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
