# SPDX-License-Identifier: BSD-3-Clause
"""Yu, Dong and Liao, "Full-Stack Allreduce on Multi-Rail Networks": Table I and section V, from a description of their cluster.

There each network has threads of its own and carries its slice as a whole: by a ring over GLEX and over TCP, by the switches of SHARP.
The description has these figures of theirs; all else is what the model makes of it:

  GLEX       82 us for 1 KB on 4 nodes (Table I): 13.4 us a step. 8 MB there: 1.17 ns for each byte sent; 64 MB: a byte beyond 32 MB
             takes 1.67 times as long
  SHARP      9 us for 1 KB and 22140 us for 8 MB on 4 nodes (Table I): 3.2 us each way and 379 MB/s, on any number of nodes
  TCP        1,050,000 KB/s (V.B.1). The latency of a step is a guess: 25 us
  together   contention: in calls that another network carries, too, GLEX takes 20 to 38 % longer (V.B, V.C.2), TCP 5 to 10 %: the
             middle of each. SHARP takes 27 % longer (V.C.2) as long as the other one is busy: with 99 % of the data, when that
             is soon done, it is 2 to 6 % (IV.C).
             Several threads to start and to wait for: 1 KB on 4 nodes (Table I): 13.7 us a step. TCP: 28.9 us a step, from where
             the cold start ends on 2 nodes
"""

from nezha_plan import aggregation, description, model
from nezha_plan.model import Way

from .row import Row

PAPER = "004"
KB, MB = 1 << 10, 1 << 20
RING, SHARP = Way("ring"), Way("", (), 1.0)
LARGEST = 64 * MB

TABLE_I = {1 * KB: (9, 82, 153, 161, 179), 8 * MB: (22140, 14761, 13013, 23496, 19983),
           64 * MB: (181484, 158089, 115645, 185137, 188822)}
COLUMNS = (("SHARP", 1.0), ("GLEX", 0.0), ("S/G 1/1", 0.5), ("S/G 99/1", 0.99), ("S/G 1/99", 0.01))
_FITTED = {(1 * KB, "SHARP"), (8 * MB, "SHARP"), (1 * KB, "GLEX"), (8 * MB, "GLEX"), (64 * MB, "GLEX"), (1 * KB, "S/G 1/1")}
# Per cent over the best single network, by nodes: least and most over the sizes of the hot start, which begins there at that size (V.B;
# of TCP on 4 nodes nothing is said, so half of that on 6).
GAINS = {"TCP-TCP": {2: (32, 81, 256 * KB), 4: (34, 84, 512 * KB), 6: (58, 87, 1 * MB)},
         "GLEX-SHARP": {2: (2, 24, 1 * MB), 4: (8, 35, 1 * MB), 6: (13, 48, 1 * MB)}}

_GAINS_TEST, _COLD_TEST = "test_figures.test_what_a_second_network_gains", "test_figures.test_small_vectors_take_one_network"

_GLEX_SHARP = {
    "pipelined": False,
    "rails": [{"name": "glex", "rate": "128gbit", "payload": 1, "latency": "13.4us", "message": "0us", "byte": "1.166ns", "contention": 1.29},
              {"name": "sharp", "rate": "200gbit", "payload": 1, "latency": "0us", "message": "0us", "byte": "0ns", "overlap": 1.27,
               "trunk": False}],
    "cpu": {"call": "0us", "fold": "0ns", "rail_threads": True, "split": "13.7us", "cache": "32M", "beyond": 1.67},
    "aggregators": {"kind": "switch", "rate": "379MB", "latency": "3.2us", "rails": ["sharp"]},
}
_TCP = {"name": "eth0", "rate": "100gbit", "payload": 0.94, "latency": "25us", "message": "0us", "byte": "0.93ns", "contention": 1.075}
_TCP_TCP = {
    "pipelined": False,
    "rails": [_TCP, {**_TCP, "name": "eth1"}],
    "cpu": {"call": "0us", "fold": "0ns", "rail_threads": True, "split": "28.9us"},
}


def glex_sharp(nodes):
    return description.cluster({"nodes": nodes, **_GLEX_SHARP})


def tcp_tcp(nodes):
    return description.cluster({"nodes": nodes, **_TCP_TCP})


PAIRS = (("TCP-TCP", tcp_tcp), ("GLEX-SHARP", glex_sharp))


def with_share(cluster, size, sharp):
    """Seconds with that part of the vector on SHARP."""
    way = SHARP if sharp == 1 else Way("ring", (), sharp)
    return model.estimate(cluster, way, size).seconds


def _single(cluster, size):
    if cluster.aggregators:
        return min(with_share(cluster, size, 0.0), with_share(cluster, size, 1.0))
    return model.estimate(cluster, Way("ring", (cluster.rails[0].name,)), size).seconds


def _both(cluster, size):
    if not cluster.aggregators:
        return model.estimate(cluster, RING, size).seconds
    # Ends of the range would be one network alone.
    part = aggregation.best_share(lambda part: with_share(cluster, size, min(max(part, 0.01), 0.99)))
    return with_share(cluster, size, min(max(part, 0.01), 0.99))


def gain(cluster, size):
    """How much faster both networks are than the better one."""
    return _single(cluster, size) / _both(cluster, size) - 1


def cold_until(cluster):
    """The largest power of two at which both are not faster."""
    size = 4
    while size < LARGEST and gain(cluster, 2 * size) <= 0:
        size *= 2
    return size


def gains(cluster, first):
    """(least, most) over the powers of two from there on, in per cent."""
    size, found = first, []
    while size <= LARGEST:
        found.append(100 * gain(cluster, size))
        size *= 2
    return min(found), max(found)


def break_even():
    """How many times as fast the better network may be until the other one brings nothing: two like GLEX and SHARP, large vectors."""
    low, high = 1.0, 100.0
    for _ in range(40):
        ratio = (low * high) ** 0.5
        if _helps(ratio):
            low = ratio
        else:
            high = ratio
    return low


def _helps(ratio):
    glex, sharp = (rail.contention * rail.overlap for rail in glex_sharp(2).rails)
    return 1 / glex + 1 / (sharp * ratio) > 1


def rows():
    yield from _table_i()
    yield from _small()
    for pair, make in PAIRS:
        for nodes, (*theirs, first) in GAINS[pair].items():
            for which, paper, ours in zip(("least", "most"), theirs, gains(make(nodes), first)):
                yield Row(PAPER, f"{pair}, {nodes} nodes, {which} gain", paper, ours, "%", test=_GAINS_TEST)
    yield Row(PAPER, "break-even, times as fast", 3.5, break_even(), "x", test="test_figures.test_break_even")


def _table_i():
    cluster = glex_sharp(4)
    for size, averages in TABLE_I.items():
        for (column, sharp), theirs in zip(COLUMNS, averages):
            ours = 1e6 * with_share(cluster, size, sharp)
            yield Row(PAPER, f"Table I, {size_words(size)}, {column}", theirs, ours, "us", 0.15, (size, column) in _FITTED,
                      test="test_figures.test_table_i")


def _small():
    pair = glex_sharp(2)
    for what, theirs, size, sharp in (("GLEX, 2 nodes, 8 KB", 48, 8 * KB, 0.0), ("GLEX, 2 nodes, 512 KB", 539, 512 * KB, 0.0),
                                      ("SHARP, 2 nodes, 8 KB", 27, 8 * KB, 1.0)):
        yield Row(PAPER, what, theirs, 1e6 * with_share(pair, size, sharp), "us", test=_COLD_TEST)
    for what, theirs, cluster, *given in (("TCP-TCP, 2 nodes", 128, tcp_tcp(2), 0, True), ("TCP-TCP, 6 nodes", 512, tcp_tcp(6)),
                                          ("GLEX-SHARP, 2 nodes", 512, pair)):
        yield Row(PAPER, f"{what}, cold until", theirs, cold_until(cluster) / KB, "KB", *given, test=_COLD_TEST)


def size_words(size):
    return f"{size // MB} MB" if size >= MB else f"{size // KB} KB"
