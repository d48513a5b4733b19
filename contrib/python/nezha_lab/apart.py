# SPDX-License-Identifier: BSD-3-Clause
"""Network and mounts of one's own, in a mere chroot, too.

    python3 apart.py    says why this machine does not allow it, and ends with 77; or with 0
"""

import os
import re
import shutil
import subprocess
import sys

_UNAVAILABLE = 77
# The kernel cuts a namespace's mounts off from others' only from a mount point on, and the directory of a chroot need not be one.
# So it becomes one, where it cannot be seen from outside: on /proc, which is a mount point, after that was cut off alone. The
# copy of the root has its own /proc.
_ENTER = """
mount --make-private /proc
mount --rbind / /proc
exec chroot /proc sh -ec 'mount --make-rprivate /; exec "$@"' sh "$@"
"""


def words(rootless):
    """What to put before a command. Only root can do this within a chroot."""
    if rootless:
        return ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    if _root_is_mounted():
        return ["unshare", "--net", "--mount"]
    return ["unshare", "--net", "--mount", "--propagation", "unchanged", "sh", "-ec", _ENTER, "sh"]


def _root_is_mounted():
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            return re.search(r"^\S+ \S+ \S+ \S+ / ", file.read(), re.MULTILINE) is not None
    except OSError:  # without /proc there is no way
        return True


def why_not():
    """'' where a process can be set apart, or where the programs for that are still to be installed; else what refuses it."""
    if not all(map(shutil.which, ("unshare", "mount"))):
        return ""
    done = subprocess.run([*words(os.geteuid() != 0), "sh", "-ec", "mount -t tmpfs tmpfs /tmp"], capture_output=True, text=True,
                          errors="replace", check=False)
    return " ".join(done.stderr.split()) or f"status {done.returncode}" if done.returncode else ""


if __name__ == "__main__":
    reason = why_not()
    if reason:
        print(reason, file=sys.stderr)
    sys.exit(_UNAVAILABLE if reason else 0)
