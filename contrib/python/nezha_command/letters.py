# SPDX-License-Identifier: BSD-3-Clause
"""Messages of processes whose outputs a launcher mixes: JSON in short numbered lines, whole or not at all.

A launcher passes on what it reads, at most some KiB at once (srun 1 KiB), so a line of one process may be cut by another's.
What does not come together again is missing, and the reader can tell.
"""

import json
import os
import re
import time

_MARK = "~nezha"
_PART = 700  # with a long name of the sender's too less than srun's 1 KiB
_PAUSE = 0.002  # so that the launcher reads each line by itself
_LINE = re.compile(rf"{_MARK} (\S+) (\d+) (\d+)/(\d+) (\d+) (.*)")


def send(sender, number, message, descriptor=1):
    """One message, the `number`th, of `sender` (a word)."""
    text = json.dumps(message)
    parts = [text[at:at + _PART] for at in range(0, len(text), _PART)]
    for index, part in enumerate(parts):
        os.write(descriptor, f"{_MARK} {sender} {number} {index}/{len(parts)} {len(part)} {part}\n".encode())
        if len(parts) > 1:
            time.sleep(_PAUSE)


class Box:
    """Fed line by line; hands out each message once it is whole."""

    def __init__(self):
        self._parts = {}

    def take(self, line):
        """(sender, number, message), or None; `line` may be anybody's."""
        match = _LINE.search(line.rstrip("\n"))
        if match is None:
            return None
        sender, number, index, count, length, part = match.groups()
        if len(part) != int(length):
            return None
        parts = self._parts.setdefault((sender, number), {})
        parts[int(index)] = part
        if len(parts) != int(count):
            return None
        del self._parts[sender, number]
        try:
            return sender, int(number), json.loads("".join(parts[at] for at in sorted(parts)))
        except (ValueError, KeyError):
            return None
