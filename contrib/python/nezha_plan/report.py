# SPDX-License-Identifier: BSD-3-Clause
"""All answers that were asked for, and as a document for scripts."""

import dataclasses

from . import answers, what_if


@dataclasses.dataclass(frozen=True)
class Plan:
    """Of one number of nodes."""

    cluster: object
    found: list  # an Answer a size
    least: dict  # {size: seconds}
    changed: dict  # {what-if: an Answer a size}


def plan(cluster, sizes, changes):
    return Plan(cluster, answers.answers(cluster, sizes), {size: answers.least(cluster, size) for size in sizes},
                {text: answers.answers(what_if.changed(cluster, text), sizes) for text in changes})


def document(plans, fit=None):
    """fit: of calibration, where something was measured."""
    fitted = {"fit": {"factors": fit.factors, "typical_error": fit.typical, "times": len(fit.errors)}} if fit else {}
    return {"format": 1, **fitted, "plans": [_plan(one) for one in plans]}


def _plan(plan):
    cluster = plan.cluster
    return {"nodes": cluster.nodes, "ranks_per_node": cluster.ranks_per_node,
            "rails": [{"name": rail.name, "bytes_per_s": rail.rate} for rail in cluster.rails],
            "sizes": [_size(answer, plan.least[answer.size]) for answer in plan.found],
            "what_if": {text: [_size(answer, None) for answer in found] for text, found in plan.changed.items()}}


def _size(answer, least):
    limit = {} if least is None else {"least_us": least * 1e6}
    return {"size": answer.size, **limit, "fastest": answer.best.way.text(), "margin": answer.margin,
            "ways": [_way(one) for one in answer.estimates]}


def _way(estimate):
    way = estimate.way
    return {"way": way.text(), "algorithm": way.algorithm, "rails": list(estimate.shares), "aggregated": way.aggregated,
            "us": estimate.seconds * 1e6, "limit": estimate.limit,
            "busy_us": {name: seconds * 1e6 for name, seconds in estimate.busy.items()}, "shares": estimate.shares}
