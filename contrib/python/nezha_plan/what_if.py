# SPDX-License-Identifier: BSD-3-Clause
"""Other clusters than the described one: 'rail+1', 'rate*2', 'rail-tcp/eth1', 'aggregator+1,nodes*4'."""

import dataclasses
import itertools
import re

from .cluster import Aggregator
from .description import AGGREGATION, MOST_CORES, MOST_NODES, MOST_OVERSUBSCRIPTION, MOST_RAILS, MOST_RANKS
from .errors import PlanError
from .units import LEAST_RATE, MOST_RATE, MOST_SECONDS

ALLOWED = ("rail+N, port+N, rail-N, rail-NAME, aggregator+N, aggregator-N, and nodes, ranks, cores, rate, latency, message, byte, pcie "
           "and oversubscription with *X, the first three also with +N and -N; rate, latency, message and byte also of one rail, as in "
           "rate:tcp/eth1*2")
_CHANGE = re.compile(r"([a-z]+)(?::([^*]+))?([*+-])(.+)")
_OF_RAILS = ("rate", "latency", "message", "byte")
_MOST_AGGREGATORS = 1 << 20
_RATES, _TIMES = (LEAST_RATE, MOST_RATE), (0.0, MOST_SECONDS)  # bytes per second, seconds
_RANGES = {"nodes": (2, MOST_NODES), "ranks_per_node": (1, MOST_RANKS), "cores": (1, MOST_CORES), "oversubscription": (0.0, MOST_OVERSUBSCRIPTION),
           "rate": _RATES, "pcie": _RATES, "latency": _TIMES, "message": _TIMES, "byte": _TIMES}


def with_nodes(cluster, nodes):
    return _whole(cluster, f"nodes {nodes}", "nodes", nodes)


def changed(cluster, text):
    """The cluster as it would be; several changes have commas between them."""
    found = cluster
    for word in text.split(","):
        found = _one(found, word.strip())
    return found.replaced(corrections=cluster.corrections.as_of(cluster)) if cluster.corrections else found


def _one(cluster, word):
    match = _CHANGE.fullmatch(word)
    if match is None:
        raise PlanError(f"what-if '{word}': {ALLOWED} are allowed")
    field, name, sign, value = match.groups()
    if field == "rail" and sign == "-" and (not value.isdecimal() or value in [rail.name for rail in cluster.rails]):
        return _without(cluster, word, value)
    if name and field not in _OF_RAILS:
        raise PlanError(f"what-if '{word}': only {', '.join(_OF_RAILS)} can be of one rail")
    if sign == "*" and field in _FACTORS:
        return _FACTORS[field](cluster, word, _factor(word, value), name)
    if sign != "*" and field in _SUMS:
        return _SUMS[field](cluster, word, int(sign + str(_count(word, value))))
    raise PlanError(f"what-if '{word}': {ALLOWED} are allowed")


def _factor(word, value):
    try:
        found = float(value)
    except ValueError:
        found = 0.0
    if not 0 < found <= 1e6:
        raise PlanError(f"what-if '{word}': after * a number above 0 and up to 1000000 is allowed")
    return found


def _count(word, value):
    if not re.fullmatch("[0-9]{1,7}", value) or not 0 < int(value) <= _MOST_AGGREGATORS:
        raise PlanError(f"what-if '{word}': after + and - a whole number from 1 on is allowed")
    return int(value)


def _without(cluster, word, name):
    left = tuple(rail for rail in cluster.rails if rail.name != name)
    if len(left) == len(cluster.rails):
        raise PlanError(f"what-if '{word}': the rails are {', '.join(rail.name for rail in cluster.rails)}")
    return _with_rails(cluster, word, left)


def _with_rails(cluster, word, rails, devices=None):
    if not any(rail.trunk for rail in rails):
        raise PlanError(f"what-if '{word}': no rail would be left")
    if len(rails) > MOST_RAILS:
        raise PlanError(f"what-if '{word}': at most {MOST_RAILS} rails are allowed, it would have {len(rails)}")
    own, names = cluster.aggregators, [rail.name for rail in rails]
    if own and own.rails:
        kept = tuple(name for name in own.rails if name in names)
        own = dataclasses.replace(own, rails=kept) if kept else None
    return cluster.replaced(rails=tuple(rails), devices=devices or cluster.devices, aggregators=own)


def _rails(cluster, word, more, port=False):
    """Like the last one: with a PCIe device of their own, or as further ports of that one's."""
    if more < 0:
        return _with_rails(cluster, word, cluster.rails[:more])
    rails, devices, last = list(cluster.rails), dict(cluster.devices), cluster.rails[-1]
    for _ in range(min(more, MOST_RAILS)):
        device = last.device
        if device and not port:
            device = _free_name(device, devices)
            devices[device] = devices[last.device]
        rails.append(dataclasses.replace(last, name=_free_name(last.name, [rail.name for rail in rails]), device=device))
    return _with_rails(cluster, word, rails, devices)


def _free_name(name, taken):
    return next(found for found in (f"{name}+{number}" for number in itertools.count(1)) if found not in taken)


def _ports(cluster, word, more):
    if more < 0:
        raise PlanError(f"what-if '{word}': {ALLOWED} are allowed")
    return _rails(cluster, word, more, port=True)


def _aggregators(cluster, word, more):
    """The first one is a process on a further node."""
    if cluster.ranks_per_node > 1:
        raise PlanError(f"what-if '{word}': aggregators are modelled with one rank on each node, there are {cluster.ranks_per_node}")
    own = cluster.aggregators or Aggregator("host", 0, 0.0, AGGREGATION, ())
    count = own.count + more
    if not 0 <= count <= _MOST_AGGREGATORS:
        raise PlanError(f"what-if '{word}': there are {own.count}")
    return cluster.replaced(aggregators=dataclasses.replace(own, count=count) if count else None)


def _allowed(word, field, value):
    """What a description may have: with others times would have no end."""
    low, high = _RANGES[field]
    whole = isinstance(low, int)
    if not low <= value <= high or whole and value != int(value):
        raise PlanError(f"'{word}': {low:.16g} to {high:.16g} are allowed for {field}, it would be {value:g}")
    return int(value) if whole else value


def _whole(cluster, word, field, value):
    return cluster.replaced(**{field: _allowed(word, field, value)})


def _of_rails(field):
    def change(cluster, word, factor, name):
        if name and name not in [rail.name for rail in cluster.rails]:
            raise PlanError(f"what-if '{word}': the rails are {', '.join(rail.name for rail in cluster.rails)}")
        return cluster.replaced(rails=tuple(
            dataclasses.replace(rail, **{field: _allowed(word, field, getattr(rail, field) * factor)}) if name in (None, rail.name) else rail
            for rail in cluster.rails))
    return change


def _pcie(cluster, word, factor, _):
    if not cluster.devices:
        raise PlanError(f"what-if '{word}': the description has no pcie")
    return cluster.replaced(devices={name: _allowed(word, "pcie", rate * factor) for name, rate in cluster.devices.items()})


def _oversubscription(cluster, word, factor, _):
    if not cluster.switch.levels:
        raise PlanError(f"what-if '{word}': the description's switch has no levels")
    levels = tuple(dataclasses.replace(level, oversubscription=_allowed(word, "oversubscription", level.oversubscription * factor))
                   for level in cluster.switch.levels)
    return cluster.replaced(switch=dataclasses.replace(cluster.switch, levels=levels))


def _cores(cluster, word, value):
    if not cluster.cpu.cores:
        raise PlanError(f"what-if '{word}': the description has no cpu.cores")
    return cluster.replaced(cpu=dataclasses.replace(cluster.cpu, cores=_allowed(word, "cores", value)))


_FACTORS = {
    **{field: _of_rails(field) for field in _OF_RAILS},
    "pcie": _pcie, "oversubscription": _oversubscription,
    "nodes": lambda cluster, word, factor, _: _whole(cluster, word, "nodes", cluster.nodes * factor),
    "ranks": lambda cluster, word, factor, _: _whole(cluster, word, "ranks_per_node", cluster.ranks_per_node * factor),
    "cores": lambda cluster, word, factor, _: _cores(cluster, word, cluster.cpu.cores * factor),
}
_SUMS = {
    "rail": _rails, "port": _ports, "aggregator": _aggregators,
    "nodes": lambda cluster, word, more: _whole(cluster, word, "nodes", cluster.nodes + more),
    "ranks": lambda cluster, word, more: _whole(cluster, word, "ranks_per_node", cluster.ranks_per_node + more),
    "cores": lambda cluster, word, more: _cores(cluster, word, cluster.cpu.cores + more),
}
