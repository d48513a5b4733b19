# SPDX-License-Identifier: BSD-3-Clause
"""nezha plan's page: what an allreduce should take, by what it is limited, what changes would bring."""

import os

from nezha_bench.sizes import size_text
from nezha_plan import tables
from nezha_plan.units import rate_text, time_text

from . import figures, paths, plan_figures
from .page import Page

NOT_COVERED = ("Computed from a description and not measured: times are those of a model of steps, bytes and resources. It knows no other "
               "traffic, no loss, no congestion of many senders to one, and no nodes that differ; nezha-cluster(5) tells more.")


def make(plans, source):
    page = Page("Nezha: plan", f"{paths.printable(os.path.basename(source))}: MPI_Allreduce on {', '.join(str(plan.cluster.nodes) for plan in plans)} nodes")
    page.warn(NOT_COVERED)
    page.tiles(_tiles(plans[-1]))
    page.table(*_rails(plans[0].cluster), text=("rail", "PCIe device"))
    if len(plans) > 1:
        page.heading("By nodes")
        page.svg(figures.svg(plan_figures.nodes(plans), "n"), "Time of the fastest way by nodes")
    for number, plan in enumerate(plans):
        _write(page, plan, number)
    return page


def _write(page, plan, number):
    page.heading(tables.heading(plan.cluster))
    page.svg(figures.svg(plan_figures.times(plan), f"t{number}"), "Time of a call by size and algorithm")
    page.table(*tables.by_algorithm(plan.found), text=("fastest",))
    page.say("Times over all rails. The fastest way may also use one rail alone, or aggregators. Margin: times as long takes the next best way.")
    page.svg(figures.svg(plan_figures.resources(plan), f"r{number}"), "What the fastest way keeps busy")
    page.table(*tables.of_the_fastest(plan.found, plan.least), text=("fastest", "is limited by"))
    page.say("Of its time the part for which each resource is busy; latency: for which it waits and nothing else is the reason. Of limit: what "
             "the rails alone would take at least, over that time.")
    if plan.changed:
        page.svg(figures.svg(plan_figures.changes(plan), f"c{number}"), "How many times as fast changes make it")
        page.table(*tables.of_changes(plan.found, plan.changed))


def _tiles(plan):
    first, last = plan.found[0], plan.found[-1]
    for answer in (first, last) if first is not last else (first,):
        yield time_text(answer.best.seconds), f"{size_text(answer.size)} bytes on {plan.cluster.nodes} nodes, by {answer.best.way.text()}"
    yield last.best.limit, f"is the limit at {size_text(last.size)}"
    for text, found in plan.changed.items():
        yield f"{last.best.seconds / found[-1].best.seconds:.2f} ×", f"as fast with {text} at {size_text(last.size)}"


def _rails(cluster):
    columns = ["rail", "carries", "latency", "a message", "a byte", "PCIe device"]
    return columns, [[rail.name, rate_text(rail.rate), time_text(rail.latency), time_text(rail.message), f"{rail.byte * 1e9:.3g} ns",
                      f"{rail.device}, {rate_text(cluster.devices[rail.device])}" if rail.device else ""] for rail in cluster.rails]
