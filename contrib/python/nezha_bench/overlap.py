# SPDX-License-Identifier: BSD-3-Clause
"""What allreduces that do not block are worth: bench --overlap. Every launch measures all sizes by nezha_overlap_bench; what is
compared are ratios within a launch, since launches differ by more.
"""

import dataclasses
import os
import statistics

from nezha_lab.console import Console
from nezha_lab.leaving import tell

from . import launch, rounds, stats, table
from .choices import SLEEPS
from .competitors import AGAIN, SHORT, WITH_COMPONENT, Launcher, order
from .errors import BenchError
from .sizes import size_text

PROGRAM = "nezha_overlap_bench"
TOGETHER = 16
ROUNDS_IN_A_LAUNCH = 11

_PAUSES = 0.02 * 6 * ROUNDS_IN_A_LAUNCH  # seconds of a launch and size, beside those of the calls
_READING = ("us: of the slowest rank, median over the rounds. / blocking: MPI_Iallreduce and MPI_Wait at once over MPI_Allreduce. "
            "overlap: the part of that which a computation as long hides.",
            f"row: {TOGETHER} blocking calls one after another; gain: their time over that of as many begun at once.",
            "Brackets: intervals over the rounds. floor: what the subject's gain differs from itself by.")


@dataclasses.dataclass
class Worth:
    """Of one size and one competitor; what has no unit is an Estimate over the rounds."""

    blocking_us: float
    over_blocking: object
    overlap: object
    row_us: float
    gain: object


class _Launcher(Launcher):
    """Starts this program in place of the usual one."""

    def __init__(self, launcher, program, computation):
        super().__init__(launcher.case, dataclasses.replace(launcher.programs, mpi=program), launcher.effort, launcher.nezha_mca)
        self._computation = computation

    def _mpi(self):
        sleep = "1" if self._computation == SLEEPS else "0"
        return [self.programs.mpi, "--rounds", str(ROUNDS_IN_A_LAUNCH), "--together", str(TOGETHER), "--sleep", sleep,
                *map(str, self.effort.sizes)]


def run(launcher, wanted, count, computation):
    """Measures and prints one case; the rounds that are complete too when something ends it early, which is then raised."""
    program = os.path.join(os.path.dirname(launcher.programs.mpi), PROGRAM)
    if not os.access(program, os.X_OK):
        raise BenchError(f"there is no program {program}: build first (contrib/build), or name the build by --build")
    own, case = _Launcher(launcher, program, computation), launcher.case
    seconds = rounds.deadline(launcher.effort, case.processes) * (1 + TOGETHER) + _PAUSES * len(launcher.effort.sizes)

    def one(number):
        sizes = {}
        for who in order([*wanted, AGAIN], number):
            real = wanted[0] if who == AGAIN else who
            tell(f"{case.name}: round {number + 1} of {count}: {SHORT[real]}")
            sizes[who] = launch.run(lab, own, real, seconds).sizes
        return sizes

    with case.lab() as lab:
        found, ended = rounds.complete(one, count)
    _print(case, wanted, found, computation, ended is not None)
    if ended is not None:
        raise ended


def summarise(found, who, size):
    """What the rounds [{who: {size: members}}] say."""
    launches = [launches[who][size] for launches in found]

    def over(above, below):
        return stats.estimate([each[above] / each[below] for each in launches])

    return Worth(statistics.median(each["blocking"] for each in launches), over("pure", "blocking"),
                 stats.estimate([1 - (each["total"] - each["compute"]) / each["pure"] for each in launches]),
                 statistics.median(each["row"] for each in launches), over("row", "together"))


def floor(found, subject, size):
    """What the subject's gain differs from itself by."""
    gains = [[launches[who][size]["row"] / launches[who][size]["together"] for launches in found] for who in (AGAIN, subject)]
    return stats.noise_floor(stats.pair_ratios(*gains))


def fault(found, who, size):
    """Why a row is not about Nezha; None where it is, or should not be."""
    if who not in WITH_COMPONENT:
        return None
    idle = sum(launches[who][size]["carried"] < launches[who][size]["made"] for launches in found)
    return f"left calls to Open MPI in {idle} of {len(found)} launches" if idle else None


def _print(case, wanted, found, computation, interrupted):
    console = Console(highlight=False)
    table.say(console, table.heading(vars(case), len(found), interrupted))
    rows, faults = [], []
    for size in sorted(found[0][wanted[0]]):
        for who in wanted:
            rows.append(_cells(summarise(found, who, size), size, who,
                               f"{100 * floor(found, who, size):.1f}%" if who == wanted[0] else ""))
            if why := fault(found, who, size):
                faults.append(f"{SHORT[who]} at {size_text(size)} {why}.")
    table.print_table(console, ["size", "", "blocking us", "/ blocking", "overlap %", "row us", "gain", "floor"], rows)
    table.say(console, [*_READING, f"The computation {computation}.", *faults])


def _cells(worth, size, who, noise):
    texts = (size_text(size), SHORT[who], f"{worth.blocking_us:.1f}", table.span_text(vars(worth.over_blocking)),
             table.span_text(vars(worth.overlap), 100, 1), f"{worth.row_us:.0f}", table.span_text(vars(worth.gain)), noise)
    return [(text, None) for text in texts]
