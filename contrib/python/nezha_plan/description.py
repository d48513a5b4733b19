# SPDX-License-Identifier: BSD-3-Clause
"""From a description (a mapping, as JSON or YAML have it) to a Cluster. nezha-cluster(5) tells of every field."""

import os

from . import fields, pcie, units
from .cluster import Aggregator, Cluster, Cpu, Level, Local, Rail, Switch
from .errors import PlanError
from .fields import REQUIRED, Field

MOST_NODES = 1 << 20
MOST_RANKS = 1024
MOST_RAILS = 16  # as of the engine
MOST_CORES, MOST_OVERSUBSCRIPTION = 4096, 1000
_MOST_ENTRIES = 64

# What sockets cost where nothing was measured: kHop and kMessage of components/tuning/cost.cc.
LATENCY, MESSAGE = 25e-6, 6e-6
_BYTE, _FOLD, _CALL, _PIECE = 0.3e-9, 0.1e-9, 2e-6, 0.3e-6
AGGREGATION = 5e-6
_PAYLOAD = 0.94  # of Ethernet frames of 1500 bytes with IP and TCP

_TOP = {
    "nodes": Field(fields.whole(2, MOST_NODES)),
    "ranks_per_node": Field(fields.whole(1, MOST_RANKS), 1),
    "rails": Field(lambda value: value, REQUIRED),
    "pcie": Field(lambda value: value, None),
    "switch": Field(lambda value: value, None),
    "cpu": Field(lambda value: value, None),
    "local": Field(lambda value: value, None),
    "aggregators": Field(lambda value: value, None),
    "rest": Field(units.seconds, 0.0),
    "rest_byte": Field(units.seconds, 0.0),
    "pipelined": Field(fields.truth, True),
}
_RAIL = {
    "name": Field(fields.name, ""),
    "rate": Field(units.rate),
    "payload": Field(fields.number(0, 1, least=0.01), _PAYLOAD),
    "latency": Field(units.seconds, LATENCY),
    "message": Field(units.seconds, MESSAGE),
    "byte": Field(units.seconds, _BYTE),
    "pcie": Field(fields.name, ""),
    "burst": Field(units.size, 0),
    "contention": Field(fields.number(0, 100, least=1), 1.0),
    "overlap": Field(fields.number(0, 100, least=1), 1.0),
    "trunk": Field(fields.truth, True),
}
_DEVICE = {
    "name": Field(fields.name),
    "generation": Field(fields.one_of(*pcie.GENERATIONS), 0),
    "lanes": Field(fields.one_of(*pcie.LANES), 0),
    "payload": Field(fields.one_of(*pcie.PAYLOADS), 0),
    "rate": Field(units.rate, 0.0),
}
_SWITCH = {
    "kind": Field(fields.one_of("single", "fat_tree", "dragonfly"), "single"),
    "latency": Field(units.seconds, 0.3e-6),
    "levels": Field(lambda value: value, None),
}
_LEVEL = {
    "nodes": Field(fields.whole(1, MOST_NODES)),
    "oversubscription": Field(fields.number(0, MOST_OVERSUBSCRIPTION), 1.0),
}
_CPU = {
    "call": Field(units.seconds, _CALL),
    "fold": Field(units.seconds, _FOLD),
    "piece": Field(units.seconds, _PIECE),
    "cores": Field(fields.whole(1, MOST_CORES), 0),
    "machines": Field(fields.whole(1, MOST_NODES), 0),
    "rail_threads": Field(fields.truth, False),
    "split": Field(units.seconds, 0.0),
    "cache": Field(units.size, 0),
    "beyond": Field(fields.number(0, 100, least=1), 1.0),
}
_LOCAL = {
    "rate": Field(units.rate, 4e9),
    "latency": Field(units.seconds, 5e-6),
}
_AGGREGATORS = {
    "kind": Field(fields.one_of("host", "switch"), "host"),
    "count": Field(fields.whole(1, MOST_NODES), 1),
    "rate": Field(units.rate, 0.0),
    "latency": Field(units.seconds, AGGREGATION),
    "rails": Field(fields.names, ()),
}


def load(path):
    """The mapping in a file. PlanError where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise PlanError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PlanError(f"{path} is no text") from None
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".json" or (suffix not in (".yaml", ".yml") and text.lstrip().startswith("{")):
        return _json(path, text)
    return _yaml(path, text)


def _json(path, text):
    import json
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{path} is no JSON: {error}") from None


def _once(pairs):
    """Of fields that are there twice one would count, and nobody knows which."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in found if names.count(name) > 1)!r} is there twice")
    return found


def _yaml(path, text):
    try:
        import yaml
    except ModuleNotFoundError:
        raise PlanError(f"{path} is YAML, for which Python's module yaml is missing: install python3-yaml, or write it as JSON") from None

    class Loader(yaml.SafeLoader):
        def compose_mapping_node(self, anchor):
            node = super().compose_mapping_node(anchor)
            _once([(key.value, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)])
            return node

    try:
        return yaml.load(text, Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise PlanError(f"{path} is no YAML: {' '.join(str(error).split())}") from None


def cluster(document, path=""):
    """Raises PlanError, which names the field, and the file where that is given."""
    try:
        return _cluster(document)
    except PlanError as error:
        raise PlanError(f"{path}: {error}" if path else str(error)) from None


def _cluster(document):
    top = fields.take(document, "", _TOP)
    devices = _devices(top["pcie"])
    rails = _rails(top["rails"], devices)
    return Cluster(nodes=top["nodes"], ranks_per_node=top["ranks_per_node"], rails=rails, devices=devices, switch=_switch(top),
                   cpu=_cpu(top),
                   local=Local(**_section(top, "local", _LOCAL)),
                   aggregators=_aggregators(top["aggregators"], rails), rest=top["rest"], rest_byte=top["rest_byte"], pipelined=top["pipelined"])


def _devices(value):
    found = {}
    for entry, place in fields.entries(value, "pcie", _MOST_ENTRIES) if value is not None else ():
        own = fields.take(entry, place, _DEVICE)
        if own["name"] in found:
            raise PlanError(f"{place}.name: {own['name']!r} is there already")
        link = own["generation"], own["lanes"], own["payload"] or pcie.PAYLOADS[0]
        if any((own["generation"], own["lanes"], own["payload"])) if own["rate"] else not all(link):
            raise PlanError(f"{place}: either generation and lanes are allowed, or rate (as of NVLink) without payload")
        found[own["name"]] = own["rate"] or pcie.payload_rate(*link)
    return found


def _rails(value, devices):
    found = []
    for entry, place in fields.entries(value, "rails", MOST_RAILS):
        own = fields.take(entry, place, _RAIL)
        device, name = own.pop("pcie"), own.pop("name") or f"rail{len(found)}"
        if device and device not in devices:
            raise PlanError(f"{place}.pcie: {device!r}: {', '.join(devices) or 'no device'} is in pcie")
        if name in [rail.name for rail in found]:
            raise PlanError(f"{place}.name: {name!r} is there already")
        own["rate"] *= own.pop("payload")
        found.append(Rail(name=name, device=device, **own))
    if not any(rail.trunk for rail in found):
        raise PlanError("rails: one of them at least has to have trunk: true")
    return tuple(found)


def _section(top, name, table):
    return fields.take({} if top[name] is None else top[name], name, table)


def _cpu(top):
    own = _section(top, "cpu", _CPU)
    for name, needed in (("machines", "cores"), ("beyond", "cache")):
        if own[name] != _CPU[name].default and not own[needed]:
            raise PlanError(f"cpu.{name}: it counts with cpu.{needed} alone, which is missing")
    return Cpu(**own)


def _switch(top):
    own = _section(top, "switch", _SWITCH)
    levels = []
    for entry, place in fields.entries(own["levels"], "switch.levels", 4) if own["levels"] is not None else ():
        level = Level(**fields.take(entry, place, _LEVEL))
        if levels and level.nodes <= levels[-1].nodes:
            raise PlanError(f"{place}.nodes: {level.nodes}: more than the {levels[-1].nodes} of the level before are allowed")
        levels.append(level)
    if (own["kind"] == "single") == bool(levels):
        raise PlanError("switch.levels: a single switch has none, a fat_tree and a dragonfly have one at least")
    return Switch(own["kind"], tuple(levels), own["latency"])


def _aggregators(value, rails):
    if value is None:
        return None
    own = fields.take(value, "aggregators", _AGGREGATORS)
    for name in own["rails"]:
        if name not in [rail.name for rail in rails]:
            raise PlanError(f"aggregators.rails: {name!r}: {', '.join(rail.name for rail in rails)} are in rails")
    return Aggregator(**own)
