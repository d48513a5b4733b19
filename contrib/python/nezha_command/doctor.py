# SPDX-License-Identifier: BSD-3-Clause
"""nezha doctor: what is wrong, why, and what to do about it."""

import argparse
import json
import random
import socket

from nezha_doctor import checks, facts, matrix, peers
from nezha_doctor.findings import PROBLEM, Cluster, names

from . import ask, fleet, launch, memory, ompi, packed, terminal
from .errors import FOUND, GOOD, CommandError

_PROBE_SECONDS = 60
_MOST_PORT = 65535
_ABOUT = """\
Looks for what keeps Nezha from being used or makes it slow, and says what to do. On one node: versions, whether Open MPI
finds the component, rails, kernel settings. On several it also compares the nodes, tries every pair of rails from both
sides, and measures the links from each node to the next for a moment: the networks should be idle. Where there are many
nodes each tries only some others, near and far in the list, and the first line says of how many pairs. Round trips from each
node to each, the rates of the links that were measured, and how ranks of a node share memory are shown whether or not anything is
wrong.

  nezha doctor                        this node
  nezha doctor --hostfile hosts       all nodes, and what is between them
  nezha doctor -- -np 4 --host a,b    what follows -- goes to mpirun

Exit status: 0 when there is no problem (advice is none), 1 when there is, 3 when it could not be found out."""


def add(verbs):
    parser = verbs.add_parser("doctor", help="what is wrong, why, and what to do about it", description=_ABOUT)
    launch.add_options(parser)
    parser.add_argument("--json", action="store_true", help="for scripts")
    parser.add_argument("--port", type=_port_number, metavar="N", help="the TCP port that is tried on every node; default: one of "
                        "coll_nezha_port_range, or any from 20000 to 32000")
    parser.set_defaults(run=run)


def _port_number(text):
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MOST_PORT:
        raise argparse.ArgumentTypeError(f"'{text}': 1 to {_MOST_PORT} is allowed")
    return int(text)


def run(options):
    if launch.is_silent(options):
        return GOOD
    cluster, complaint = examine(options)
    found = checks.findings(cluster)
    if options.json:
        tried, pairs = _pairs(cluster)
        print(json.dumps({"findings": [finding._asdict() for finding in found], "complaint": complaint, "nodes": cluster.facts,
                          "memory": [{"nodes": nodes, "what": text} for nodes, text in _memory(cluster)],
                          "pairs": {"tried": tried, "all": pairs}, "matrix": matrix.entries(cluster), "probes": cluster.probes}, indent=1))
    else:
        _show(cluster, found, complaint)
    return FOUND if complaint or any(finding.severity == PROBLEM for finding in found) else GOOD


def examine(options):
    """(Cluster, what the launcher complained about)"""
    if launch.is_local(options):
        return Cluster({socket.gethostname(): facts.gather()}), ""
    with terminal.Progress() as progress:
        progress.step("asking the nodes what they have")
        answers, complaint, lacking = fleet.ask(options, ["facts", *([facts.PLACE_ADDED] if _place_is_added(options) else [])])
        cluster = Cluster(answers)
        if len(answers) > 1 and not lacking:
            rails = {node: ask.by_address(answer["rails"]) for node, answer in answers.items()}
            plan = {"port": options.port or _port(answers), "rails": rails}
            progress.step(f"trying all lanes between {len(answers)} nodes, from both ends")
            cluster.probes, complaint = _probes(options, plan)
    return cluster, complaint


def _place_is_added(options):
    """Whether the nodes look for the component where this command says, and not the user."""
    return ompi.adds_place() and not any("mca_base_component_path" in word for word in [options.launcher or "", *options.mpirun])


def _probes(options, plan):
    """What no node answers leaves what is known of the nodes as it is."""
    try:
        return fleet.ask(options, ["probe", *packed.pack(plan)], _PROBE_SECONDS, tries=1)[:2]
    except CommandError as error:
        return {}, f"the lanes were not tried: {error}"


def _port(answers):
    """Within the range that firewalls were opened for, where there is one."""
    ranges = {answer["parameters"].get("port_range", "0") for answer in answers.values()} - {"0", ""}
    low, _, high = (min(ranges) if ranges else "20000-32000").partition("-")
    try:
        return _port_number(str(random.randint(int(low), int(high))))
    except (ValueError, argparse.ArgumentTypeError):
        raise CommandError(f"coll_nezha_port_range '{low}-{high}' is no range of ports: name one by --port") from None


def _pairs(cluster):
    """(pairs of nodes that were tried, all pairs)"""
    tried, every = peers.pairs(len(cluster.facts))
    return tried if cluster.probes else 0, every


def summary(cluster):
    lanes, nodes = len(cluster.lanes()), len(cluster.facts)
    count = sum(len(node["rails"]) for node in cluster.facts.values())
    tried, pairs = _pairs(cluster)
    where = f"{nodes} nodes" if nodes > 1 else f"node {next(iter(cluster.facts))} alone"
    text = f"{where}, {count} rail{'' if count == 1 else 's'}"
    if lanes and tried == pairs:
        return f"{text}, {lanes} lanes between them"
    if lanes:
        return f"{text}; {tried} of {pairs} pairs of nodes were tried, {peers.MOST} others a node at most: {lanes} lanes"
    return text


def _memory(cluster):
    """As memory.by_way() has it; a node that runs an older Nezha does not tell."""
    return memory.by_way({node: facts["memory"] for node, facts in cluster.facts.items() if "memory" in facts})


def _show(cluster, found, complaint):
    terminal.say(summary(cluster))
    for nodes, text in _memory(cluster):
        terminal.say(f"ranks of {'each node' if len(nodes) == len(cluster.facts) else names(nodes)} share memory {text}")
    for title, columns, rows in matrix.tables(cluster):
        terminal.say(f"\n{title}")
        terminal.print_table(columns, rows, right=columns[1:])
    if cluster.probes and not found:
        terminal.say()
    for finding in found:
        style = "bold red" if finding.severity == PROBLEM else "yellow"
        terminal.say(f"\n{finding.severity}, {finding.check}: {finding.what}", style)
        terminal.say(f"  what to do: {finding.do}")
    if complaint:
        terminal.say(f"\nThe launcher said: {complaint}", "bold red")
    problems = sum(finding.severity == PROBLEM for finding in found)
    if found:
        terminal.say()
    advice = len(found) - problems
    terminal.say(f"{problems} problem{'' if problems == 1 else 's'} found, {advice} piece{'' if advice == 1 else 's'} of advice",
                 "bold" if problems else "green")
