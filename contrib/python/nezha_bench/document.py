# SPDX-License-Identifier: BSD-3-Clause
"""The JSON file: all that was printed, what it was computed from, and with what it was measured."""

import dataclasses
import datetime
import json
import os
import platform
import sys

from nezha_lab import awake

from . import files

FORMAT = 1


def machine():
    return {"kernel": platform.release(), "processor": _processor(), "cores": len(os.sched_getaffinity(0)),
            "load": os.getloadavg(), "kept_awake": os.access(awake.DEVICE, os.W_OK)}


def _processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def start(kind="cases"):
    """kind: what the list is called that add_case() adds to."""
    return {"format": FORMAT, "command": sys.argv, "python": platform.python_version(), "machine": machine(),
            "started": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), kind: []}


def add_case(document, measured, summary, launcher, kind="cases"):
    """Raw values: every launch of every round, as the programs printed them."""
    document[kind].append({
        "summary": summary,
        "programs": dataclasses.asdict(launcher.programs), "effort": dataclasses.asdict(launcher.effort),
        "nezha_mca": [list(pair) for pair in launcher.nezha_mca],
        "commands": {who: launcher.of(who)[0] for who in measured.competitors},
        "versions": {who: launch.header for who, launch in measured.rounds[0].items()},
        "orders": measured.orders,
        "rounds": [{who: dataclasses.asdict(launch) for who, launch in launches.items()} for launches in measured.rounds],
        "scouts": [dataclasses.asdict(launch) for launch in measured.scouts],
    })


def write(document, path):
    """As files.write() does it."""
    document["machine_after"] = machine()
    document["ended"] = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    return files.write(path, json.dumps(document, indent=1) + "\n")
