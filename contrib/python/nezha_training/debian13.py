# SPDX-License-Identifier: BSD-3-Clause
"""The same command in a Debian 13, whose PyTorch has MPI: made where it is not there, with this checkout built in it."""

import os
import shutil
import subprocess
import sys

from nezha_bench import files
from nezha_check.debian import Debian, why_not
from nezha_lab.checkout import TOP
from nezha_lab.errors import LabError, LabUnavailable

_SUITE = "trixie"
_SOURCES, _BUILD, _FOUND = "/src", "/build", "/training.json"  # in there
# What is not handed on: it names places out here.
_OUTER = ("debian", "json", "build")
_TIMEOUT = 3600


def run(options):
    """The exit status of the command in there."""
    reason = why_not()
    if reason:
        raise LabUnavailable(f"--debian: {reason}")
    debian = Debian(os.path.abspath(options.debian), _SUITE)
    prepare(debian)
    found = debian.root + _FOUND
    if os.path.exists(found):
        os.unlink(found)
    if options.json:
        print(f"figures: until it ends, what is found is in {found}", file=sys.stderr, flush=True)
    child = subprocess.Popen(debian.command(["python3", f"{_SOURCES}/contrib/figures", "training", *handed_on(options)],
                                            PYTHONDONTWRITEBYTECODE="1"), stdin=subprocess.DEVNULL)
    try:
        status = child.wait()
    finally:
        child.terminate()  # after a signal; the namespaces end with it
        child.wait()
        kept = _hand_out(found, options.json)
    return status if kept else status or 1


def handed_on(options):
    words = ["--build", _BUILD, "--json", _FOUND]
    for name, value in vars(options).items():
        if name not in _OUTER:
            words += [f"--{name}", ",".join(value) if isinstance(value, list) else str(value)]
    return words


def prepare(debian):
    """Whatever is missing: the Debian, its packages, Nezha in it."""
    log = f"{debian.root}.log"
    _step("makes a Debian 13", debian.make, log)
    _step("copies the sources there", lambda _: _copy(debian.root + _SOURCES), log)
    _step("installs what it needs there", lambda one: debian.run([f"{_SOURCES}/contrib/install-packages", "training"], one, _TIMEOUT) == 0, log)
    _step("builds Nezha there", lambda one: debian.run([f"{_SOURCES}/contrib/build", _BUILD], one, _TIMEOUT) == 0, log)


def _step(what, make, log):
    print(f"figures: {what}", file=sys.stderr, flush=True)
    if not make(log):
        raise LabError(f"this failed: {what}: see {log}")


def _copy(place):
    """The checkout as it is, but for what was built: files keep their times, so that make does what has changed."""
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    reading = subprocess.Popen(["tar", "-c", "-C", TOP, "--exclude=./build", "--exclude=./_build", "--exclude=./.git", "."],
                               stdout=subprocess.PIPE)
    writing = subprocess.run(["tar", "-x", "--no-same-owner", "-C", place], stdin=reading.stdout, check=False)
    reading.stdout.close()
    return reading.wait() == 0 and writing.returncode == 0


def _hand_out(found, path):
    """Whether what was found is where it was wanted."""
    if not path or not os.path.exists(found):
        return True
    with open(found, "rb") as file:
        return files.write(path, file.read())
