# SPDX-License-Identifier: BSD-3-Clause
"""The rates of a job's rails as the user gives them, and the time that they allow a call at best."""

import argparse

from nezha_lab.errors import LabUsage
from nezha_lab.limit import PAYLOAD
from nezha_lab.spec import bits_per_second, check_rate


def rates(text):
    """For argparse: 'eth0=1gbit,eth1=500mbit' as {name without a transport: bits per second}."""
    found = {}
    for entry in text.split(","):
        name, sign, rate = entry.partition("=")
        try:
            bits = bits_per_second(check_rate("rate", rate)) if sign and name else None
        except LabUsage as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        if bits is None:
            raise argparse.ArgumentTypeError(f"'{entry}': RAIL=RATE is allowed, such as eth0=1gbit")
        found[_bare(name)] = bits
    return found


def _bare(rail):
    return rail.rpartition("/")[2]


def unused(given, rails):
    """The names of `given` that no rail in `rails` has, sorted."""
    return sorted(set(given) - set(map(_bare, rails)))


def together(rails, given):
    """Bits per second of all `rails`; None where the rate of one is not known."""
    known = [given.get(_bare(name)) for name in rails]
    return sum(known) if known and None not in known else None


def least_us(size, total):
    """Microseconds that calls of one trace_story.Size need at least, with one rank on each node: each has to send, and to
    receive, bytes * 2 (N-1) / N. None where that is not known."""
    if total is None or size.ranks < 2 or size.bytes == 0:
        return None
    return size.bytes * 2 * (size.ranks - 1) / size.ranks * 8 / (total * PAYLOAD) * 1e6
