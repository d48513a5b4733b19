# SPDX-License-Identifier: BSD-3-Clause
"""What a job has said, in as many letters as an error can have."""

import re

_LINE = re.compile(r"[-=*\s]*")


def excerpt(words, most=2000):
    """From the beginning, where mpirun and the first that fails say why; of what is too long also the last quarter. Lines that
    are empty or drawn are left out, and so are those that were there before."""
    lines = dict.fromkeys(line.rstrip() for line in words.splitlines() if not _LINE.fullmatch(line))
    text = "\n".join(lines)
    if len(text) <= most:
        return text
    first, last = text[:most * 3 // 4].rsplit("\n", 1)[0], text[-most // 4:].split("\n", 1)[-1]
    return f"{first}\n[{len(text) - len(first) - len(last)} letters are left out here]\n{last}"
