# SPDX-License-Identifier: BSD-3-Clause
"""nezha simulate: traffic inside nodes and between them, packet by packet, and a paper's figures of it beside ours."""

import argparse
import json
import math
import os

from nezha_bench.arguments import listed, positive
from nezha_bench.errors import BenchUsage
from nezha_bench.files import picture
from nezha_bench.sizes import parse_sizes, size_text

from . import simulator, terminal
from .errors import FOUND, GOOD, CommandError, UsageError

PATTERNS = {"C1": 20, "C2": 15, "C3": 10, "C4": 5, "C5": 0}  # percent of the messages that go to other nodes
ALGORITHMS = ("ring", "mesh", "halving", "doubling", "single_step")
RATES = {"1": 128, "2": 256, "3": 512}  # Gbit/s of an accelerator, by the paper's configurations

_ABOUT = """\
Simulates nodes whose accelerators send messages to each other and, through one NIC a node, to other nodes over a fat tree: every
packet, buffer and arbiter, as the model of SAURON does. It tells where the network inside the nodes or a NIC becomes the limit.

  nezha simulate --configuration 3 --accelerators 8 --patterns C1,C4
  nezha simulate --nodes 512 --loads 100 --patterns C1
  nezha simulate --nodes 16 --accelerators 1 --algorithms ring,halving --sizes 64K,1M
  nezha simulate --papers

It knows nothing of this cluster. The same arguments give the same numbers. Exit status: 0; 1 when, of --papers, a figure is
outside of what is allowed and not known to be; 2 when a value is not allowed; 3 when a file cannot be read."""

# Option, metavar, help; the name of the setting is the option's with _ in place of -.
_SETTINGS = (
    ("nodes", "N", "default 32; a fat tree of two levels has as few ports a switch as they need"),
    ("accelerators", "N", "of a node; default 8"),
    ("accelerator-gbps", "G", "of each link inside a node; default 512"),
    ("node-gbps", "G", "of each link between nodes; default 400"),
    ("intra-payload", "BYTES", "of a packet inside a node; default 128"),
    ("intra-header", "BYTES", "default 20"),
    ("inter-payload", "BYTES", "of a packet between nodes, and of a message; default 4032"),
    ("inter-header", "BYTES", "default 64"),
    ("buffer", "BYTES", "of each input of a switch or NIC; default 131072"),
    ("conversion-ns", "NS", "what a NIC takes to make a packet of the inside out of what has come; default 9.39"),
    ("meters", "M", "of each cable between nodes; default 1"),
    ("ns-per-meter", "NS", "default 25"),
    ("source-queue", "BYTES", "of messages that wait in an accelerator before it generates no more; default 131072"),
    ("train", "N", "packets inside a node that move together: 1 is exact and slow; default 8"),
    ("seed", "N", "default 1"),
    ("warm-up-us", "US", "simulated before anything is counted; default 60"),
    ("measured-us", "US", "default 200"),
)


def add(verbs):
    parser = verbs.add_parser("simulate", help="traffic inside nodes and between them, packet by packet", description=_ABOUT)
    parser.add_argument("--papers", action="store_true", help="the paper's figures beside ours; of the others only --jobs, --long and "
                        "--json count")
    parser.add_argument("--long", action="store_true", help="of --papers: those of 128 and 512 nodes, too")
    parser.add_argument("--algorithms", type=listed(ALGORITHMS), metavar="LIST", help="instead of loads: how long an allreduce takes by each of "
                        f"these, of {', '.join(ALGORITHMS)}, with a rank on each accelerator, of 128 at most")
    parser.add_argument("--sizes", default="64K,1M", metavar="LIST", help="of --algorithms: bytes of a vector, multiples of 4; default 64K,1M")
    parser.add_argument("--traffic", metavar="FILE", help="instead of loads: how long the messages of a file take")
    parser.add_argument("--configuration", choices=tuple(RATES), help="the paper's: 128, 256 or 512 Gbit/s for --accelerator-gbps")
    parser.add_argument("--patterns", type=_patterns, default=list(PATTERNS), metavar="LIST",
                        help="which part of the messages goes to other nodes: C1 to C5 are 20, 15, 10, 5 and 0 %%, or percentages; "
                        "default C1,C2,C3,C4,C5")
    parser.add_argument("--loads", default="10,20,30,40,50,60,70,80,90,100", metavar="LIST",
                        help="what accelerators generate, %% of their link's rate; default 10,20,...,100")
    parser.add_argument("--arbiter", choices=("round-robin", "age"), help="of all switches; default round-robin")
    parser.add_argument("--outputs", choices=("independent", "matched"),
                        help="matched: an input of a switch feeds one output at a time; default independent")
    for name, metavar, text in _SETTINGS:
        parser.add_argument(f"--{name}", metavar=metavar, help=text)
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, metavar="N", help="simulations at a time; default: cores")
    parser.add_argument("--json", action="store_true", help="for scripts")
    parser.add_argument("--picture", type=picture, metavar="FILE", help="a .png, .svg or .pdf of throughput and latency by load")
    parser.set_defaults(run=run)


def _patterns(text):
    words = text.split(",")
    for word in words:
        if word not in PATTERNS and _percentage(word) is None:
            raise argparse.ArgumentTypeError(f"'{word}': C1 to C5 or a percentage is allowed")
    return words


def _percentage(word):
    try:
        number = float(word)
    except ValueError:
        return None
    return number if 0 <= number <= 100 else None


def run(options):
    if options.papers:
        return _papers(options)
    if options.traffic and options.algorithms:
        raise UsageError("either --traffic or --algorithms is allowed")
    if options.traffic or options.algorithms:
        if options.picture:
            raise UsageError("--picture: there is one of loads alone, and none with --traffic or --algorithms")
        return _traffic(options)
    drawing = _drawing() if options.picture else None
    settings = _settings(options)
    percent = [PATTERNS.get(word, word) for word in options.patterns]
    with terminal.Progress() as progress:
        results = simulator.run(settings, percent, options.loads, options.jobs, progress)
    found = {"settings": settings, "patterns": _by_pattern(options.patterns, results)}
    written = not drawing or drawing.draw(found, options.picture)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        terminal.print_table(_COLUMNS, [_row(name, result) for name, of_it in found["patterns"].items() for result in of_it],
                             right=_COLUMNS[1:-1])
    if not written:
        raise CommandError("the picture could not be written")
    return GOOD


def _settings(options):
    settings = {name: getattr(options, name) for name in (option.replace("-", "_") for option, _, _ in _SETTINGS)}
    settings.update(arbiter=options.arbiter, outputs=options.outputs)
    if options.configuration:
        settings["accelerator_gbps"] = settings["accelerator_gbps"] or RATES[options.configuration]
    return {name: value for name, value in settings.items() if value is not None}


def _traffic(options):
    settings = _settings(options)
    if options.traffic:
        found = [{"traffic": options.traffic, **simulator.traffic(options.traffic, settings)}]
    else:
        found = _allreduces(options, settings)
    if options.json:
        print(json.dumps({"settings": settings, "traffic": found}, indent=1))
        return GOOD
    rows = [(size_text(entry["size"]) if "size" in entry else "", entry.get("algorithm") or entry["traffic"], f"{entry['ranks']}",
             f"{entry['messages']}", f"{entry['bytes']}", f"{entry['us']:.1f}") for entry in found]
    terminal.print_table(("size", "traffic", "ranks", "messages", "bytes", "us"), rows,
                         right=("size", "ranks", "messages", "bytes", "us"))
    return GOOD


def _allreduces(options, settings):
    try:
        sizes = parse_sizes(options.sizes)
    except BenchUsage as error:
        raise UsageError(str(error)) from None
    found = []
    with terminal.Progress() as progress:
        for size in sizes:
            for algorithm in options.algorithms:
                progress.step(f"{algorithm} of {size_text(size)}")
                found.append({"size": size, "algorithm": algorithm, **simulator.allreduce(algorithm, size, settings)})
    return found


def _drawing():
    try:
        from . import simulate_picture
    except ModuleNotFoundError as error:
        raise CommandError(f"Python's module {error.name} is missing: install python3-{error.name}") from None
    return simulate_picture


def _by_pattern(words, results):
    each = len(results) // len(words)
    return {word: results[number * each:(number + 1) * each] for number, word in enumerate(words)}


_COLUMNS = ("pattern", "load %", "Gbit/s", "in nodes", "between", "us in nodes", "us between", "most of it")


def _row(name, result):
    parts = result["inter_parts_us"]
    total = sum(parts.values())
    most = max(parts, key=parts.get) if total else ""
    return (name, f"{result['load_percent']:g}", f"{result['gbps']:.0f}", f"{result['intra_gbps']:.0f}",
            f"{result['inter_gbps']:.0f}", _us(result["intra_latency_us"]), _us(total),
            f"{most} {100 * parts[most] / total:.0f} %" if most else "")


def _us(number):
    return f"{number:.2f}" if number else ""


def _papers(options):
    with terminal.Progress() as progress:
        found = simulator.papers(options.long, options.jobs, progress)
    wrong = [figure for figure in found["figures"] if not (figure["holds"] or figure["outside"])]
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        _print_figures(found)
    return FOUND if wrong else GOOD


def _print_figures(found):
    rows = [(figure["what"], _short(figure["paper"]), _short(figure["ours"]), _error(figure),
             figure["allowed"], _verdict(figure)) for figure in found["figures"]]
    terminal.print_table(("figure", "paper", "ours", "error", "allowed", ""), rows, right=("paper", "ours", "error"))
    for figure in found["figures"]:
        if figure["outside"] and not figure["holds"]:
            terminal.say(f"\n{figure['what']}: {figure['outside']}.")
    terminal.say("\nWhere the paper contradicts itself or leaves something out:", "bold")
    for remark in found["remarks"]:
        terminal.say(f"- {remark}")


def _short(number):
    return f"{number:.{max(0, 3 - math.floor(math.log10(abs(number))))}f}" if 0 < abs(number) < 1000 else f"{number:.0f}"


def _error(figure):
    return f"{100 * (figure['ours'] / figure['paper'] - 1):+.1f} %"


def _verdict(figure):
    if figure["allowed"] in ("", "given"):
        return ""
    return ("good", "green") if figure["holds"] else ("outside", "yellow" if figure["outside"] else "bold red")
