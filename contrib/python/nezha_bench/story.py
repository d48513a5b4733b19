# SPDX-License-Identifier: BSD-3-Clause
"""What the demonstration tells about its measurements: a table, bars, and some sentences."""

from nezha_lab.console import Console
from rich.table import Table
from rich.text import Text

from .competitors import ALL, NEZHA, NEZHA_ONE, ONE
from .sizes import size_text

_BAR = 46
# A difference of a run from itself that spoils the story.
_BUSY = 0.1

# In the order of the story, with the colour of the bar.
_STORY = ((ONE, "Open MPI, one rail", "bright_blue"), (ALL, "Open MPI, two rails", "blue"),
          (NEZHA_ONE, "Nezha, one rail", "bright_red"), (NEZHA, "Nezha, two rails", "red"))


def _us(row, who):
    return row["competitors"][who]["us"]["median"]


def _time(microseconds):
    return f"{microseconds:.0f} us" if microseconds < 1000 else f"{microseconds / 1000:.1f} ms"


def _table(found):
    table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left",
                  title="Time of one MPI_Allreduce; last, how many times as fast Nezha is over two rails as over one")
    for name in ("size", *(label for _, label, _ in _STORY), "Nezha, one rail / two rails"):
        table.add_column(name, justify="right")
    for row in found["sizes"]:
        faster = _us(row, NEZHA_ONE) / _us(row, NEZHA)
        table.add_row(size_text(row["size"]), *(_time(_us(row, who)) for who, _, _ in _STORY), f"{faster:.2f} x")
    return table


def _bars(row):
    """One line per competitor: how much of the vector it reduces in a second, and what the wires allow."""
    rates = [(label, row["size"] / _us(row, who), colour) for who, label, colour in _STORY]
    limit = row["size"] / row["limit_us"]
    for label, rate, colour in [*rates, ("the wires' limit", limit, "white")]:
        length = max(1, round(_BAR * rate / limit))
        yield Text.assemble(f"{label:>20} ", ("█" * length, colour), f" {rate:.0f} MB/s")


def _explanation(found, picture_path):
    large, small = found["sizes"][-1], found["sizes"][0]
    size, nezha = size_text(large["size"]), _us(large, NEZHA)
    part = 100 * large["competitors"][NEZHA]["of_limit"]["median"]
    yield ("1. One MPI program, never rebuilt, ran on 4 emulated nodes that two networks of 1 Gbit/s join; only the options "
           "of mpirun differed.")
    yield (f"2. With Nezha a call of {size} took {_time(_us(large, NEZHA_ONE))} over one network and {_time(nezha)} over both: "
           f"{_us(large, NEZHA_ONE) / nezha:.2f} times as fast, {part:.0f} % of what the wires allow.")
    yield (f"3. Open MPI by itself took {_time(_us(large, ONE))} over one and {_time(_us(large, ALL))} over both: "
           f"{_us(large, ONE) / nezha:.2f} and {_us(large, ALL) / nezha:.2f} times as long as Nezha.")
    yield (f"4. A small call, of {size_text(small['size'])}, is no matter of bandwidth: Nezha took "
           f"{_time(_us(small, NEZHA))}, Open MPI {_time(_us(small, ONE))} over one and {_time(_us(small, ALL))} over both.")
    yield (f"5. Every element of every result, on every rank in all rounds (there were {found['rounds']}), was what it has to be."
           + (f" The picture is {picture_path}" if picture_path else ""))


def _doubts(found, wanted):
    """What the reader has to know before believing the numbers. wanted: rounds that there should have been."""
    if found["rounds"] < wanted:
        why = "it was ended early" if found["interrupted"] else "this machine is slow or busy, and after a minute and a half none begins"
        yield f"Rounds made: {found['rounds']} of {wanted}, because {why}. Differences are less certain."
    floor = found["sizes"][-1]["noise_floor"]
    if floor > _BUSY:
        yield (f"This machine was busy: the same run differed from itself by up to {100 * floor:.0f} %. "
               "Run the demonstration again when it is quiet.")
    for who, reason in found["invalid"].items():
        label = next(label for name, label, _ in _STORY if name == who)
        yield f"*** INVALID: \"{label}\" was not carried by Nezha: {reason} ***"


def show(found, picture_path, wanted, console=None):
    """picture_path: None where there is none. wanted: rounds that there should have been."""
    console = console or Console(highlight=False)
    if not console.is_terminal:
        console.width = 130
    console.print()
    console.print(_table(found))
    large = found["sizes"][-1]
    console.print(f"\nVector reduced per second at {size_text(large['size'])}", style="bold")
    for line in _bars(large):
        console.print(line, soft_wrap=True)
    console.print()
    for line in _explanation(found, picture_path):
        console.print(line, markup=False, soft_wrap=True)
    for line in _doubts(found, wanted):
        console.print(Text(line, style="bold white on red"), soft_wrap=True)
