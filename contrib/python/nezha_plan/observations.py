# SPDX-License-Identifier: BSD-3-Clause
"""What was measured, from the files of nezha rails --json, nezha bench --json, contrib/bench --json, and tables (nezha-table(5))."""

import dataclasses
import json

from nezha_bench import carried, sizes
from nezha_bench.collectives import ALLREDUCE
from nezha_bench.competitors import NEZHA, NEZHA_THREADS
from nezha_lab.spec import bits_per_second

from . import algorithms
from .description import MOST_NODES, MOST_RANKS
from .errors import PlanError
from .units import MOST_SECONDS

_LEAST_PAYLOAD = 0.8  # of a link's rate
_OVER_ALL_RAILS = (NEZHA, NEZHA_THREADS)  # columns of the bench
# Parameters with which calls are carried as the model does not have it, and those that leave out some of a case's rails.
_UNLIKE, _RAILS = ("coll_nezha_share", "coll_nezha_aggregators", "coll_nezha_sharp"), ("coll_nezha_rail_include", "coll_nezha_rail_exclude")


@dataclasses.dataclass(frozen=True)
class Observation:
    nodes: int
    ranks_per_node: int
    size: int
    seconds: float
    algorithm: str = ""  # '': whatever was fastest
    one_rail: bool = False
    rates: tuple = ()  # of the rails' links, in bytes per second; (): not known
    noise: float = 0.0  # what the measurement differs from itself, as a part

    def __post_init__(self):
        whole = (self.nodes, MOST_NODES), (self.ranks_per_node, MOST_RANKS), (self.size, sizes.MOST)
        if not (all(type(value) is int and 0 < value <= most for value, most in whole) and 0 < self.seconds <= MOST_SECONDS and self.noise >= 0):
            raise ValueError("no measurement")

    def is_of(self, cluster):
        """Whether its rails may be the described ones, as far as it says."""
        described = sorted(rail.rate for rail in cluster.trunk)
        return not self.rates or (len(self.rates) == len(described) and
                                  all(_LEAST_PAYLOAD * link <= rate <= link for link, rate in zip(sorted(self.rates), described)))


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise PlanError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{path} is no JSON: {error}") from None


def read(path):
    """('rails', {name: least Mbit/s of any node; 0 and less: not known} and the number of nodes) or ('times', [Observation...]). PlanError where it is
    neither."""
    document = load(path)
    try:
        if "nodes" in document:
            return "rails", (_of_rails(document["nodes"]), len(document["nodes"]))
        found = list(of_bench(document) if "cases" in document else _of_table(document))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise PlanError(f"{path} is nothing that nezha rails --json or nezha bench --json has written, nor a table") from None
    if not found:
        raise PlanError(f"{path} has no time of a call that Nezha carried over all rails")
    return "times", found


def of_bench(document):
    for case in document["cases"]:
        summary, parameters = case["summary"], {name: value for name, value in case.get("nezha_mca", [])}
        subject = summary["subject"]
        if not _is_alike(summary) or not _is_over_all_rails(summary, parameters):
            continue
        header = case["versions"][subject]
        ranks, nodes = header["ranks"], header.get("nodes") or summary["case"]["nodes"]
        for row in summary["sizes"]:
            cell = row["competitors"][subject]
            if cell.get("carried_by") == carried.RAILS and ranks % nodes == 0 and nodes > 1:
                way = _algorithm(parameters, row["size"], nodes)
                yield Observation(nodes, ranks // nodes, row["size"], cell["us"]["median"] / 1e6, way, rates=_rates(summary["case"]),
                                  noise=row.get("noise_floor") or 0.0)


def _algorithm(parameters, size, nodes):
    """What carried the calls, as Plan::choose has it; '': the fastest, which was learned."""
    named = parameters.get("coll_nezha_algorithm")
    if named in algorithms.ALL:
        return named if size <= algorithms.MOST_COPIED or named not in (algorithms.SINGLE_STEP, algorithms.DOUBLING) else algorithms.RING
    return algorithms.first(size, nodes) if parameters.get("coll_nezha_learn") == "0" else ""


def _is_alike(summary):
    """Whether it is about allreduces of ranks and nodes that are alike, without an aggregator, as the model has them."""
    case = summary["case"]
    return (summary.get("collective", ALLREDUCE) == ALLREDUCE and not case.get("node_rates") and not case.get("aggregator") and
            not isinstance(case.get("ranks"), list))


def _is_over_all_rails(summary, parameters):
    """Whether the subject is Nezha as the model has it, over the rails that the case tells of."""
    unlike = _UNLIKE + (_RAILS if summary["case"]["rails"] else ())
    return (summary["subject"] in _OVER_ALL_RAILS and summary["subject"] not in summary.get("invalid", {}) and
            all(parameters.get(name, "") in ("", "0") for name in unlike))


def _rates(case):
    """Of a case of contrib/bench; (): the links have no rate, or these are not known."""
    found = [bits_per_second(text) for text in case["rails"]]
    return () if None in found else tuple(bits / 8 for bits in found)


def _of_table(document):
    for entry in document["collectives"]["allreduce"]:
        ranks, nodes = entry.get("comm_size_min", 0), entry.get("comm_nodes_min", 0)
        if not 1 < nodes <= ranks or ranks % nodes or (ranks, nodes) != (entry.get("comm_size_max"), entry.get("comm_nodes_max")):
            continue  # a range, as one without an end is, does not tell how many ranks were measured
        for rule in entry["rules"]:
            for way in rule.get("measured", ()):
                rails = way.get("rails", "all")
                usual = way["alg"] != "incumbent" and not way.get("carriers")  # the model has as many as the size is worth
                if usual and way["time_ns"] > 0 and (rails in ("all", "one") or len(rails) == 1):
                    yield Observation(nodes, ranks // nodes, rule.get("msg_size_min") or 1, way["time_ns"] / 1e9, way["alg"], rails != "all")


def _of_rails(answers):
    """Of the rails that all nodes have."""
    by_node = [{rail["name"]: rail["speed_mbps"] for rail in answer["rails"]} for answer in answers.values()] or [{}]
    return {name: min(int(other[name]) for other in by_node) for name in by_node[0] if all(name in other for other in by_node)}


def with_rails(document, found):
    """The description, with the rails that every node has in the place of those that it does not name, and as many nodes. found: of read()."""
    speeds, nodes = found
    filled = dict(document)
    if "rails" not in filled:
        if not speeds:
            raise PlanError("the nodes have no rail in common: name rails in the description")
        filled["rails"] = [_rail(name, speed) for name, speed in speeds.items()]
    filled.setdefault("nodes", nodes)
    return filled


def _rail(name, speed):
    if speed <= 0:
        raise PlanError(f"the speed of {name} is not known: name rails in the description, with their rates")
    return {"name": name, "rate": f"{speed}mbit"}
