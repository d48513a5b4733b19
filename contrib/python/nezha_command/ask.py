# SPDX-License-Identifier: BSD-3-Clause
"""The engine's own answers, by the program nezha_ask beside which the command was installed."""

import os
import subprocess

from . import installed, memory as node_memory
from .errors import CommandError

_SECONDS = 30


def ask(*arguments):
    """The facts that nezha_ask prints, each a list of fields. What it has to say when it fails becomes a CommandError."""
    program = os.path.join(installed.LIBEXEC, "nezha_ask")
    try:
        done = subprocess.run([program, *arguments], capture_output=True, timeout=_SECONDS, check=False)
    except OSError as error:
        raise CommandError(f"{program} cannot be run ({error.strerror}): is Nezha installed on this node as on the others?") from None
    except subprocess.TimeoutExpired:
        raise CommandError(f"{program} did not answer within {_SECONDS} s") from None
    if done.returncode != 0:
        raise CommandError(" ".join(_text(done.stderr).split()) or f"{program} ended with status {done.returncode}")
    return [line.split("\t") for line in _text(done.stdout).split("\n")[:-1]]


def _text(output):
    return output.decode(errors="replace")


def rails(parameters):
    """What the component would use on this node; parameters: {name: value}, names without coll_nezha_."""
    found = {"version": "", "rails": [], "left_out": [], "unknown": [], "available": [], "trouble": [], "aggregators": [],
             "aggregator_share": parameters.get("aggregator_share", "auto")}
    for kind, *fields in ask("rails", *(f"{name}={value}" for name, value in parameters.items())):
        if kind == "version":
            found["version"] = fields[0]
        elif kind == "rail":
            name, device, address, prefix, speed, pci = fields
            found["rails"].append({"name": name, "device": device, "address": address, "prefix": int(prefix),
                                   "speed_mbps": int(speed), "pci": pci})
        elif kind == "left_out":
            found["left_out"].append({"name": fields[0], "reason": fields[1]})
        elif kind == "trouble":
            found["trouble"].append(dict(zip(("parameter", "value", "reason", "used"), fields)))
        elif kind == "aggregator":
            place, node, rails_there, lanes_to_it, microseconds, service, upstream, over = fields
            found["aggregators"].append({"name": place, "node": node, "rails": rails_there.split(", "), "lanes": int(lanes_to_it),
                                         "over": over.split(", "), "us": int(microseconds), "service": service, "upstream": upstream,
                                         "trouble": ""})
        elif kind == "silent":
            found["aggregators"].append({"name": fields[0], "node": "", "rails": [], "lanes": 0, "over": [], "us": None, "service": "",
                                         "upstream": "", "trouble": fields[1]})
        elif kind in ("unknown", "available"):
            found[kind].append(fields[0])
    return found


def by_address(found):
    """Of these rails those of TCP: of others no address is known that could be tried without Nezha."""
    return [rail for rail in found if rail["address"]]


def aggregator_trouble(service):
    """Why the node that gave this answer of an aggregator cannot use it; empty: it can."""
    return service["trouble"] or ("" if service["lanes"] else f"no rail here is in a network of its rails ({', '.join(service['rails'])})")


def lanes(mine, theirs):
    """[(number in mine, number in theirs)] of two nodes' rails, as the component pairs them."""
    texts = [",".join(f"{rail['address']}/{rail['prefix']}" for rail in rails) for rails in (mine, theirs)]
    return [(int(local), int(remote)) for _, local, remote in ask("lanes", *texts)] if all(texts) else []


def memory():
    """How ranks of this node could share memory: {"way": "single_copy", "copies" or "none", "why": it is no better, "used": how they do,
    empty where they do not, "not_used": as of memory.not_used()}."""
    _, way, why = ask("memory")[0]
    found = {"way": way, "why": why}
    return {**found, "used": "" if way == "none" else node_memory.USED, "not_used": node_memory.not_used(found)}


def _limit(text):
    return None if text == "inf" else int(text)


def table(path):
    """{"refused": reason} or {"communicators": [{"ranks": (least, most), "nodes": ..., "rules": [...]}]} of a table's file, as
    the component's own parser has it. All numbers are numbers, and a most without limit is None."""
    communicators = []
    for kind, *fields in ask("table", path):
        if kind == "refused":
            return {"refused": fields[0]}
        if kind == "communicator":
            communicators.append({"ranks": [*map(_limit, fields[:2])], "nodes": [*map(_limit, fields[2:])], "rules": []})
        elif kind == "rule":
            first, last, way, calls = fields
            communicators[-1]["rules"].append({"first": int(first), "last": _limit(last), "way": way, "calls": int(calls),
                                               "measured": [], "shares": {}})
        elif kind == "measured":
            communicators[-1]["rules"][-1]["measured"].append({"way": fields[0], "us": int(fields[1]) / 1000})
        elif kind == "share":
            communicators[-1]["rules"][-1]["shares"][fields[0]] = int(fields[1]) / 65536
    return {"communicators": communicators}
