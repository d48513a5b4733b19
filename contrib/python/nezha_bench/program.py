# SPDX-License-Identifier: BSD-3-Clause
"""Any MPI program under each competitor that Open MPI can run: bench --program. One launch, and what it tells.

Into the program a library is preloaded (contrib/programs/nezha_allreduce_clock.c) that writes a line for each rank: calls of
MPI_Allreduce, bytes and seconds, of all calls and of the late ones, from a given second on. Iterations are what the program
says of them on its standard output, each at the time when it arrives here.
"""

import collections
import dataclasses
import json
import os
import re
import shlex
import tempfile
import time

from . import launch, stolen
from .carried import reported
from .competitors import WITH_COMPONENT, Effort, Launcher
from .errors import BenchError
from .excerpt import excerpt

_MOST = 4000
_LINES = 20
_ITERATION = re.compile(r"\biteration\b[ #:=]*(\d+)", re.IGNORECASE)
_EXITED = re.compile(r"Process name: \[\S+?,(\d+)\]\s+Exit code: +(\d+)")
_SIGNALLED = re.compile(r"process rank (\d+) .*? exited on signal (\d+)")
_ABORTED = re.compile(r"MPI_ABORT was invoked on rank (\d+) .*?(?:with errorcode|Errorcode:) (\d+)", re.DOTALL)


@dataclasses.dataclass
class Run:
    """seconds: the whole job. ranks: the library's lines. marks: [second, number] of each line that tells an iteration.
    carried: calls of rank 0 that the rails carried, None without Nezha's report. stolen: the part of the processors' time that
    the host took (stolen.py)."""

    competitor: str
    seconds: float = 0.0
    ranks: list = dataclasses.field(default_factory=list)
    marks: list = dataclasses.field(default_factory=list)
    carried: int = None
    stolen: float = 0.0
    header: dict = dataclasses.field(default_factory=dict)

    def late(self, member):
        """The mean over the ranks, of calls from the given second on."""
        return sum(rank["late"][member] for rank in self.ranks) / len(self.ranks)

    def iterations_per_second(self, since):
        """From the first that is told from then on; None where fewer than two are."""
        late = [mark for mark in self.marks if mark[0] >= since]
        if len(late) < 2 or late[-1][0] == late[0][0]:
            return None
        return sum(map(_advance, late, late[1:])) / (late[-1][0] - late[0][0])


def _advance(before, after):
    """A number that is lower than the one before it: the program began to count anew."""
    return after[1] - before[1] if after[1] >= before[1] else after[1]


class ProgramLauncher(Launcher):
    """command: the program and its arguments. since: the second from which on calls are late."""

    def __init__(self, case, programs, command, since, nezha_mca=(), cores=None):
        super().__init__(case, programs, Effort((), 0), nezha_mca, cores)
        self.command, self.since = command, since

    def of(self, competitor):
        arguments, keywords = super().of(competitor)
        return (["--mca", "coll_nezha_report", "1"] if competitor in WITH_COMPONENT else []) + arguments, keywords

    def _mpi(self):
        return self.command


def clock_of(build):
    path = os.path.join(build, "contrib", "programs", ".libs", "nezha_allreduce_clock.so")
    if not os.path.isfile(path):
        raise BenchError(f"there is no {path}: build first (contrib/build), or name the build by --build")
    return path


def run(lab, launcher, competitor, clock, most_seconds):
    """Raises BenchError when the program fails, takes too long, or has nothing to tell."""
    arguments, keywords = launcher.of(competitor)
    done, start, said = Run(competitor), time.monotonic(), collections.deque(maxlen=_LINES)
    host = stolen.Watch()

    def take(line):
        said.append(line)
        found = _ITERATION.search(line)
        if found:
            done.marks.append([time.monotonic() - start, int(found[1])])

    with tempfile.TemporaryDirectory() as directory:
        lines = os.path.join(directory, "clock")
        variables = {"LD_PRELOAD": _preloaded(clock, directory), "NEZHA_CLOCK_FILE": lines, "NEZHA_CLOCK_FROM": str(launcher.since)}
        exported = [word for pair in variables.items() for word in ("-x", "=".join(pair))]
        job = launch.follow(lab, [*exported, *arguments], keywords, most_seconds, take)
        if job.expired:
            raise BenchError(f"the program was ended under {competitor}: it took longer than {most_seconds:g} s (--limit)")
        if job.status != 0:
            raise BenchError(failure(competitor, launcher.command, job, "".join(said)))
        done.ranks = _read(lines)
    done.seconds, done.stolen = job.seconds, host.part()
    if "Nezha's report" in job.words:
        done.carried = sum(calls for _, calls in reported(job.words))
    _check(done, launcher.since)
    return done


def _preloaded(clock, directory):
    """The library by a name in `directory`, since blanks and colons end one for the loader, and behind it what the user preloads."""
    name = os.path.join(directory, os.path.basename(clock))
    os.symlink(clock, name)
    return ":".join([name, *os.environ.get("LD_PRELOAD", "").replace(":", " ").split()])


def _read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii") as file:
        return sorted(map(json.loads, file), key=lambda line: line["rank"])


def _check(done, since):
    if not done.ranks:
        raise BenchError(f"under {done.competitor} no rank of the program called MPI_Allreduce: there is nothing to compare")
    if not done.late("calls"):
        raise BenchError(f"under {done.competitor} no rank called MPI_Allreduce later than {since:g} s after its start: the "
                         f"program ended after {done.seconds:.1f} s (--from)")


def failure(competitor, command, job, said):
    """Which rank failed, as mpirun tells it, and what the program said last."""
    rank = f"mpirun's exit status is {job.status}"
    for pattern, what in ((_ABORTED, "called MPI_Abort with"), (_EXITED, "ended with exit status"), (_SIGNALLED, "ended by signal")):
        found = pattern.search(job.words)
        if found:
            rank = f"rank {found[1]} {what} {found[2]}"
            break
    last = excerpt(job.words, _MOST) or said.strip()
    return f"the program failed under {competitor}: {rank}: {shlex.join(command)}\n{last}"
