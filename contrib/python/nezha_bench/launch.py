# SPDX-License-Identifier: BSD-3-Clause
"""One launch: an mpirun on the lab that measures all sizes, read while it runs."""

import dataclasses
import subprocess
import tempfile
import threading
import time

from . import service_cost, stolen
from .competitors import OWN_PROGRAM, uses_aggregator
from .errors import BenchError
from .excerpt import excerpt
from .output import OsuReader, read_json_line


@dataclasses.dataclass
class Launch:
    """What one launch printed; sizes maps bytes to the program's members for that size, stolen.MEMBER, and service_cost.MEMBER where
    it used an aggregator; words are those on standard error."""

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
    read = OsuReader().read if launcher.programs.osu and competitor not in OWN_PROGRAM else read_json_line
    wanted = launcher.effort.sizes
    host, services = stolen.Watch(), service_cost.Watch(launcher.services if uses_aggregator(competitor) else [])
    done = follow(lab, arguments, keywords, deadline_seconds,
                  lambda line: _take(read(line), launch, wanted, host, services, on_size), watch)
    launch.seconds, launch.words = done.seconds, done.words
    _check(launch, wanted, done, arguments)
    return launch


@dataclasses.dataclass
class Followed:
    """A job that is over. status: mpirun's; words: those on standard error."""

    status: int
    expired: bool
    seconds: float
    words: str


def follow(lab, arguments, keywords, deadline_seconds, take, watch=None):
    """Runs a job, hands each line of its output to take() as it comes, and ends the job when it takes too long or take() raises.

    keywords are Lab.popen's; watch as run() has it.
    """
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        job = lab.popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                        text=True, errors="replace", **keywords)
        expired = threading.Event()
        timer = threading.Timer(deadline_seconds, lambda: (expired.set(), job.end()))
        timer.start()
        try:
            if watch is not None:
                watch(job)
            for line in job.stdout:
                take(line)
            job.wait()
        except BaseException:
            job.end()
            raise
        finally:
            timer.cancel()
            job.stdout.close()
        seconds = time.monotonic() - start
        errors.seek(0)
        return Followed(job.returncode, expired.is_set(), seconds, errors.read())


def _take(found, launch, wanted, host, services, on_size):
    """OSU's program also measures every power of two that lies between those that are wanted."""
    if found is None:
        return
    kind, members = found
    if kind == "start":
        launch.header = {**members, **launch.header}  # OSU's comes in several lines, its name first
        services.members()  # what they have done before the first size counts for none
    else:
        size = members.pop("size")
        members |= {stolen.MEMBER: host.part(), **services.members()}
        if size in wanted:
            launch.sizes[size] = members
            on_size(size)


def _check(launch, sizes, done, arguments):
    words = excerpt(launch.words)
    if done.expired:
        raise BenchError(f"{launch.competitor} was ended: it took too long after size {max(launch.sizes, default=0)}\n{words}")
    if done.status != 0:
        raise BenchError(f"{launch.competitor} failed with status {done.status}: {' '.join(arguments)}\n{words}")
    lacking = [size for size in sizes if size not in launch.sizes]
    if lacking:
        raise BenchError(f"{launch.competitor} printed nothing for the sizes {lacking}\n{words}")
