# SPDX-License-Identifier: BSD-3-Clause
"""One launch: an mpirun on the lab that measures all sizes, read while it runs."""

import dataclasses
import subprocess
import tempfile
import threading
import time

from .competitors import GLOO
from .errors import BenchError
from .output import OsuReader, read_json_line

_TAIL = 2000


@dataclasses.dataclass
class Launch:
    """What one launch printed; sizes maps bytes to the program's members for that size, words are those on standard error."""

    competitor: str
    header: dict = dataclasses.field(default_factory=dict)
    sizes: dict = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    words: str = ""


def run(lab, launcher, competitor, deadline_seconds, on_size=lambda size: None, watch=None):
    """Raises BenchError when the job fails, prints something wrong, leaves a size out or takes too long.

    on_size is called as each size is done; watch, if given, is called with the running Job and must return soon.
    """
    arguments, keywords = launcher.of(competitor)
    launch = Launch(competitor)
    read = OsuReader().read if launcher.programs.osu and competitor != GLOO else read_json_line
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:
        job = lab.popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                        text=True, **keywords)
        expired = threading.Event()
        timer = threading.Timer(deadline_seconds, lambda: (expired.set(), job.end()))
        timer.start()
        try:
            if watch is not None:
                watch(job)
            _take_lines(job, read, launch, on_size)
        except BaseException:
            job.end()
            raise
        finally:
            timer.cancel()
            job.stdout.close()
        launch.seconds = time.monotonic() - start
        _check(launch, launcher.effort.sizes, job.returncode, expired.is_set(), errors, arguments)
    return launch


def _take_lines(job, read, launch, on_size):
    for line in job.stdout:
        found = read(line)
        if found is None:
            continue
        kind, members = found
        if kind == "start":
            launch.header = {**members, **launch.header}  # OSU's comes in several lines, its name first
        else:
            size = members.pop("size")
            launch.sizes[size] = members
            on_size(size)
    job.wait()


def _check(launch, sizes, status, expired, errors, arguments):
    errors.seek(0)
    launch.words = errors.read()
    words = launch.words[-_TAIL:].strip()
    if expired:
        raise BenchError(f"{launch.competitor} was ended: it took too long after size {max(launch.sizes, default=0)}\n{words}")
    if status != 0:
        raise BenchError(f"{launch.competitor} failed with status {status}: {' '.join(arguments)}\n{words}")
    lacking = [size for size in sizes if size not in launch.sizes]
    if lacking:
        raise BenchError(f"{launch.competitor} printed nothing for the sizes {lacking}\n{words}")
