# SPDX-License-Identifier: BSD-3-Clause
"""Running the system's own programs: found or named with their package, and quiet unless they fail."""

import os
import shutil
import subprocess

from .errors import LabError, LabUnavailable

PACKAGES = {
    "ip": "iproute2", "tc": "iproute2", "bridge": "iproute2",
    "unshare": "util-linux", "nsenter": "util-linux", "mount": "mount", "hostname": "hostname",
    "mpirun": "openmpi-bin", "mpiexec.hydra": "mpich", "rdma": "iproute2",
}
LAB_TOOLS = ("ip", "tc", "bridge", "unshare", "nsenter", "mount", "hostname")


def add_system_paths():
    """An ordinary user's PATH often lacks the directories that ip and tc are in."""
    path = os.environ.get("PATH", "").split(":")
    os.environ["PATH"] = ":".join([p for p in path if p] + [p for p in ("/usr/sbin", "/sbin") if p not in path])


def require(*names):
    add_system_paths()
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        packages = sorted({PACKAGES[name] for name in missing})
        raise LabUnavailable(f"missing {', '.join(missing)}: apt-get install {' '.join(packages)}")


def run(argv, text=None):
    """Runs argv with text as its input and returns its output; a failure becomes a LabError with the tool's words."""
    done = subprocess.run(argv, input="" if text is None else text, capture_output=True, text=True)
    if done.returncode != 0:
        words = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
        raise LabError(f"{argv[0]} failed: {words}")
    return done.stdout


def batch(prefix, tool, lines):
    """One process for many commands of ip, tc or bridge; it stops at the first that fails."""
    if lines:
        run([*prefix, tool, "-batch", "-"], "\n".join(lines) + "\n")
