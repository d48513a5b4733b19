# SPDX-License-Identifier: BSD-3-Clause
"""Kernel settings that cost speed."""

from .findings import ADVICE, PROBLEM, Finding, names, odd_ones

_BUFFER = 4 << 20  # what a rail of 10 Gbit/s needs at 3 ms


def check(cluster):
    yield from _idle(cluster)
    yield from _buffers(cluster)
    yield from _congestion(cluster)
    for name in ("net.ipv4.tcp_window_scaling", "net.ipv4.tcp_sack"):
        nodes = [node for node, facts in cluster.facts.items() if facts["settings"].get(name) == "0"]
        if nodes:
            yield Finding(PROBLEM, "kernel", nodes, f"{name} is 0 on {names(nodes)}: connections cannot fill a fast network",
                          f"sysctl -w {name}=1")


def _idle(cluster):
    nodes = [node for node, facts in cluster.facts.items() if facts["settings"].get("net.ipv4.tcp_slow_start_after_idle") == "1"]
    if nodes:
        yield Finding(ADVICE, "kernel", nodes, f"connections begin slowly again after each pause of the application on {names(nodes)}",
                      "sysctl -w net.ipv4.tcp_slow_start_after_idle=0")


def _buffers(cluster):
    for name in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"):
        def most(facts, name=name):
            value = facts["settings"].get(name)
            return int(value.split()[-1]) if value else None

        for size, nodes in cluster.several(most).items():
            if size < _BUFFER:
                yield Finding(ADVICE, "kernel", nodes, f"{name} allows {size >> 10} KiB at most on {names(nodes)}",
                              f"sysctl -w {name}=\"4096 131072 16777216\" for networks of 10 Gbit/s and more")


def _congestion(cluster):
    ways = cluster.several(lambda facts: facts["settings"].get("net.ipv4.tcp_congestion_control"))
    for way, nodes in odd_ones(ways):
        yield Finding(PROBLEM, "kernel", nodes, f"TCP's congestion control is {way} on {names(nodes)}, {next(iter(ways))} elsewhere: "
                      "the nodes do not share a network fairly", f"sysctl -w net.ipv4.tcp_congestion_control={next(iter(ways))}")
