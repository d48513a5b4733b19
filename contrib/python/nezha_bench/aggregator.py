# SPDX-License-Identifier: BSD-3-Clause
"""The aggregator of a case that has one, or the tree of them, and whether it was used."""

import contextlib
import os
import tempfile

from nezha_lab.aggregator import Aggregator, common_parameters, named_by_rank

from .competitors import uses_aggregator
from .errors import BenchError

# What coll_nezha_report prints where something went through an aggregator.
_USED = "aggregator %"


@contextlib.contextmanager
def key_file():
    """Its path, with mode 0600, as long as the block runs."""
    with tempfile.NamedTemporaryFile(prefix="nezha-bench-key-") as key:
        key.write(os.urandom(32))
        key.flush()
        yield key.name


@contextlib.contextmanager
def beside(lab, launcher):
    """Runs what the case has of them, with a key of their own, for what the launcher starts meanwhile."""
    case, program = launcher.case, launcher.programs.aggregate
    if not case.aggregator:
        yield
        return
    if not program or not os.access(program, os.X_OK):
        raise BenchError(f"there is no program {program}: build first (contrib/build), or name the build by --build")
    with contextlib.ExitStack() as stack:
        key = stack.enter_context(key_file())
        first, *others = case.services
        root = stack.enter_context(Aggregator(lab, first, program, key))
        racks = [stack.enter_context(Aggregator(lab, node, program, key, ["--upstream", root.place])) for node in others]
        launcher.aggregator = [*(common_parameters(key) if racks else root.parameters(key)), "--mca", "coll_nezha_report", "1"]
        launcher.named_by_rank = named_by_rank([racks[case.rack_of(node)] for node in range(case.nodes)]) if racks else []
        launcher.services = [service.pid for service in (root, *racks)]
        yield


def fault(case, launches):
    """Why a column is not about the aggregator, in one sentence; None when it is, or should not be."""
    if not case.aggregator or not uses_aggregator(launches[0].competitor):
        return None
    without = sum(_USED not in launch.words for launch in launches)
    return f"nothing went through the aggregator in {without} of {len(launches)} launches" if without else None
