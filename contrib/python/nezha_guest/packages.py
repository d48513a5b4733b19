# SPDX-License-Identifier: BSD-3-Clause
"""The kernel's packages, fetched by apt with a state of its own: nothing of this machine's apt is used or changed."""

import glob
import os
import re
import shutil
import subprocess

from nezha_lab.errors import LabUnavailable

from .settings import KEYRING, MIRROR, SUITE

_TIMEOUT = 600
_IMAGE = re.compile(r"^\s*Depends: linux-image-(\S+-amd64)$", re.MULTILINE)


def fetch(directory):
    """The paths of the newest kernel's packages in `directory`, fetched where they are not there yet; those that are there are
    not looked for again."""
    there = sorted(glob.glob(os.path.join(directory, "linux-*.deb")))
    if len(there) == 2:
        return there
    apt = _Apt(os.path.join(directory, "apt"))
    apt("apt-get", "update")
    found = _IMAGE.search(apt("apt-cache", "depends", "linux-image-amd64"))
    if not found:
        raise LabUnavailable(f"{MIRROR} {SUITE} has no package linux-image-amd64 that depends on a kernel")
    for stale in there:
        os.unlink(stale)
    apt("apt-get", "download", f"linux-binary-{found[1]}", f"linux-modules-{found[1]}", cwd=directory)
    there = sorted(glob.glob(os.path.join(directory, "linux-*.deb")))
    if len(there) != 2:
        raise LabUnavailable(f"apt-get download of kernel {found[1]} left {len(there)} packages in {directory} in place of 2")
    return there


class _Apt:
    """apt with one source and everything that it writes below `state`."""

    def __init__(self, state):
        if shutil.which("apt-get") is None:
            raise LabUnavailable("the guest's kernel comes from Debian, and there is no apt-get here")
        if not os.path.exists(KEYRING):
            raise LabUnavailable(f"the guest's kernel comes from Debian, whose keys are not here: there is no {KEYRING} "
                                 "(package debian-archive-keyring)")
        for name in ("lists/partial", "archives/partial"):
            os.makedirs(os.path.join(state, name), exist_ok=True)
        source, status = os.path.join(state, "sources.list"), os.path.join(state, "status")
        with open(source, "w", encoding="ascii") as file:
            file.write(f"deb [arch=amd64 signed-by={KEYRING}] {MIRROR} {SUITE} main\n")
        with open(status, "w", encoding="ascii"):
            pass
        settings = {"Dir::State": state, "Dir::State::status": status, "Dir::Cache": state, "Dir::Etc::SourceList": source,
                    "Dir::Etc::SourceParts": "/dev/null", "Dir::Etc::Preferences": "/dev/null",
                    "Dir::Etc::PreferencesParts": "/dev/null", "APT::Architecture": "amd64", "APT::Architectures": "amd64",
                    "APT::Sandbox::User": "", "Acquire::Retries": "2"}
        self._options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def __call__(self, program, *words, cwd=None):
        """Output of one of apt's commands; what went wrong becomes the reason why there is no guest."""
        try:
            done = subprocess.run([program, *self._options, *words], cwd=cwd, capture_output=True, text=True, timeout=_TIMEOUT,
                                  stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}, check=False)
        except subprocess.TimeoutExpired:
            raise LabUnavailable(f"{program} {words[0]} from {MIRROR} took more than {_TIMEOUT} s") from None
        trouble = [line for line in done.stderr.splitlines() if line.startswith(("E:", "W: Failed", "Err:"))]
        if done.returncode != 0 or trouble:
            words = f"{program} {words[0]} from {MIRROR} {SUITE}"
            raise LabUnavailable(f"the guest's kernel could not be fetched: {words}: {' '.join(trouble) or done.stderr.strip()}")
        return done.stdout
