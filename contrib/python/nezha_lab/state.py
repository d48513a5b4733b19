# SPDX-License-Identifier: BSD-3-Clause
"""What is known of each lab between commands: one JSON file per lab, and an empty directory it mounts its files on.

Root's labs are in /run/nezha-lab, an ordinary user's in the runtime directory or /tmp. The file says who keeps
the lab (pid and start time), so that a lab whose keeper is gone is told from one that lives.
"""

import contextlib
import fcntl
import json
import os
import stat
import tempfile

from . import processes
from .errors import LabError

# Set for the keeper, to whom an ordinary user looks like root; a user may set it too.
DIRECTORY_VARIABLE = "NEZHA_LAB_DIR"


def directory():
    """Made if need be; refused when somebody else owns it, for what is in it is trusted."""
    uid = os.geteuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if DIRECTORY_VARIABLE in os.environ:
        path = os.environ[DIRECTORY_VARIABLE]
    elif uid == 0:
        path = "/run/nezha-lab"
    elif _owned_directory(runtime, uid):
        path = os.path.join(runtime, "nezha-lab")
    else:
        path = os.path.join("/tmp", f"nezha-lab-{uid}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o755 if uid == 0 else 0o700)
    if not _owned_directory(path, uid):
        raise LabError(f"{path} is not a directory of this user's own: move it away")
    return path


def _owned_directory(path, uid):
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == uid


def mount_point(name):
    return os.path.join(directory(), name)


def _file(name):
    return os.path.join(directory(), name + ".json")


@contextlib.contextmanager
def lock():
    """Held while a lab's file is read, changed and written, and while a name is taken."""
    with open(os.path.join(directory(), ".lock"), "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def save(record):
    """Readers see the old file or the new one, never a part."""
    with tempfile.NamedTemporaryFile("w", dir=directory(), prefix=".new-", delete=False, encoding="utf-8") as file:
        json.dump(record, file)
    os.replace(file.name, _file(record["name"]))


def load(name):
    """None when there is no such lab."""
    try:
        with open(_file(name), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def names():
    return sorted(entry[:-5] for entry in os.listdir(directory()) if entry.endswith(".json"))


def alive(record):
    return processes.start_time(record["keeper"]) == record["started"]


def forget(name):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_file(name))
    with contextlib.suppress(OSError):
        os.rmdir(mount_point(name))
