# SPDX-License-Identifier: BSD-3-Clause
"""Reads what the bench programs print: our JSON lines, or osu_allreduce's table."""

import json

from .errors import BenchError

_OSU_COLUMNS = {"avg": "avg_us", "min": "min_us", "max": "max_us"}


def read_json_line(line):
    """('start' or 'size', members), or None for a line that is something else's."""
    if not line.startswith("{"):
        return None
    try:
        members = json.loads(line)
    except ValueError:
        return None
    return members.pop("kind"), members


class OsuReader:
    """Fed line by line; remembers the header, which names the columns of what follows it."""

    def __init__(self):
        self.columns = None

    def read(self, line):
        if line.startswith("# Size"):
            # "Avg Latency(us)" is one column of two words; "Iterations" and newer ones are single words.
            words = line[1:].replace("Latency(us)", "").split()
            self.columns = [_OSU_COLUMNS.get(word.lower(), word.lower()) for word in words]
            return None
        if line.startswith("# "):
            return "start", {"osu": True, "title": line[2:].strip()}
        words = line.split()
        if self.columns is None or not words or not words[0].isdigit():
            return None
        if len(words) != len(self.columns):
            raise BenchError(f"cannot read the OSU line '{line.strip()}'")
        row = {name: float(word) for name, word in zip(self.columns, words)}
        return "size", {**row, "size": int(words[0]), "iterations": int(row.get("iterations", 0))}
