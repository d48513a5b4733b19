# SPDX-License-Identifier: BSD-3-Clause
"""nezha rails: what each node has, what is used, what is left out and why."""

import json
import socket
import types

from . import ask, fleet, launch, memory as node_memory, node, terminal
from .errors import FOUND, GOOD

_ABOUT = """\
Tells for each node which of its network interfaces Nezha takes as rails, which it leaves out, and why: the component's own
answer, with the parameters that are in force on that node.

  nezha rails                         this node
  nezha rails --hostfile hosts        every node of a hostfile
  nezha rails -- -np 4 --host a,b     what follows -- goes to mpirun

Exit status: 0 when every node has a rail and everything that was named is there, 1 otherwise, 3 when it could not be found
out."""


def add(verbs):
    parser = verbs.add_parser("rails", help="what each node has, what is used, what is left out and why", description=_ABOUT)
    launch.add_options(parser)
    parser.add_argument("--json", action="store_true", help="for scripts")
    parser.set_defaults(run=run)


def run(options):
    if launch.is_silent(options):
        return GOOD
    if launch.is_local(options):
        answers, complaint = {socket.gethostname(): node.rails()}, ""
    else:
        with terminal.Progress() as progress:
            progress.step("asking the nodes")
            answers, complaint, _ = fleet.ask(options, ["rails"])
    if options.json:
        print(json.dumps({"nodes": answers, "complaint": complaint}, indent=1))
    else:
        _show(answers)
        if complaint:
            terminal.say(f"The launcher said: {complaint}", "yellow")
    return FOUND if complaint or any(list(problems(answer)) for answer in answers.values()) else GOOD


def common(options):
    """The rails, as in "tcp/eth0", that every node of a job has under the same name; options as of cluster_options. One node
    alone has none, since there is nothing to choose between its processes."""
    words = [word for pair in options.nezha_mca for word in ("--mca", *pair)]
    where = types.SimpleNamespace(launcher=None, hostfile=None, host=None, mpirun=[*words, *options.mpirun])
    answers = list(fleet.ask(where, ["rails"]).by_node.values())
    if len(answers) < 2:
        return []
    shared = set.intersection(*({rail["name"] for rail in answer["rails"]} for answer in answers))
    return [rail["name"] for rail in answers[0]["rails"] if rail["name"] in shared]


def problems(answer):
    """What is not as the user wanted it, one sentence each."""
    for entry in answer["trouble"]:
        inherited = f"{entry['parameter']}, taken for " if entry["parameter"].startswith("btl_") else ""
        yield f"{inherited}coll_nezha_{entry['reason']}; used: {entry['used'] or '(empty)'}"
    for word in answer["unknown"]:
        there = ", ".join(answer["available"]) or "nothing"
        yield f"'{word}' is named as a rail, and this node does not have it; there is {there}"
    for service in answer["aggregators"]:
        trouble = ask.aggregator_trouble(service)
        if trouble:
            yield f"aggregator {service['name']} is not used: {trouble}"
    if not answer["rails"]:
        yield "no rail: Open MPI's own allreduce carries everything (name interfaces by coll_nezha_rail_include)"


def share_text(share):
    return "the share of large vectors is found by trying" if share == "auto" else f"share of large vectors {share} %"


def memory_text(memory):
    """What carries between the ranks of a node, and its colour."""
    if memory["way"] == "none":
        return f"not among ranks of this node: {memory['why']}", "bold red"
    return f"used among ranks of this node, {node_memory.text(memory)}", "green"


def use_text(rail, rails):
    """Rails of one PCIe device share its capacity, which may be less than the sum of their links'."""
    pci = rail.get("pci")
    others = [other["name"] for other in rails if pci and other is not rail and other.get("pci") == pci]
    return f"used; shares PCIe device {pci} with {', '.join(others)}" if others else "used"


def _show(answers):
    rows = []
    for name, answer in answers.items():
        for rail in answer["rails"]:
            rows.append((name, rail["name"], f"{rail['address']}/{rail['prefix']}" if rail["address"] else "", _speed(rail),
                         (use_text(rail, answer["rails"]), "green")))
        for other in answer["left_out"]:
            rows.append((name, other["name"], "", "", (f"left out: {other['reason']}", "dim")))
        for service in answer["aggregators"]:
            if not ask.aggregator_trouble(service):
                rows.append((name, f"aggregator {service['name']}", "", "", (of_aggregator(service, answer), "green")))
        if memory := answer.get("memory"):
            rows.append((name, "shared memory", "", "", memory_text(memory)))
        for text in problems(answer):
            rows.append((name, "", "", "", (text, "bold red")))
    terminal.print_table(("node", "interface", "address", "speed", "what about it"), rows)


def of_aggregator(service, answer):
    lanes = f"{service['lanes']} lane{'' if service['lanes'] == 1 else 's'}"
    upstream = f" joins its rack to others by {service['upstream']};" if service["upstream"] else ""
    return (f"{service['node']} answers after {service['us'] / 1000:.1f} ms;{upstream} {lanes} to it over "
            f"{', '.join(service['over'])}; {share_text(answer['aggregator_share'])}")


def _speed(rail):
    speed = rail["speed_mbps"]
    return "?" if speed == 0 else f"{speed / 1000:g} Gbit/s" if speed >= 1000 else f"{speed} Mbit/s"
