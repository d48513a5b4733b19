# SPDX-License-Identifier: BSD-3-Clause
"""The collectives that can be compared, and what makes them different from an allreduce."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Collective:
    """parameter: its word in coll_nezha_collectives; None: an allreduce's. traffic(nodes): as a multiple of the vector, what some node has
    to send or receive at least. rooted: the root may be done long before the others, so that the slowest rank's time counts."""

    name: str
    traffic: object
    parameter: str = None
    rooted: bool = False


def _both_halves(nodes):
    return 2 * (nodes - 1) / nodes


def _half(nodes):
    return (nodes - 1) / nodes


def _once(nodes):
    return 1 if nodes > 1 else 0


def _nothing(_):
    return 0


ALLREDUCE = "allreduce"
COLLECTIVES = {one.name: one for one in (
    Collective(ALLREDUCE, _both_halves),
    Collective("iallreduce", _both_halves),
    Collective("reduce_scatter", _half, "reduce_scatter"),
    Collective("allgather", _half, "allgather"),
    Collective("bcast", _once, "bcast", rooted=True),
    Collective("reduce", _once, "reduce", rooted=True),
    Collective("barrier", _nothing, "barrier"),
)}
