#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a rank's engine does in a call and in a look at nothing, in instructions, as teams grow: by callgrind, in virtual
time, so that each run counts the same. The simulated network is left out. As a program: prints a table for numbers of
ranks.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("NEZHA_BUILD_DIR") or TOP / "build" / "check")
PROGRAM = BUILD / "test" / "sim" / "work_of_ranks"
NETWORK = "rail/sim/"
COST = re.compile(r"^[+\-*]?\d* ?[+\-*]?\d+ (\d+)$")


def count(path):
    """What functions cost by themselves, but those of the simulated network: how the dump was asked for, and the sum."""
    files, owner, current, skip, total, name = {}, {}, "", False, 0, ""

    def resolve(table, text):
        number, _, rest = text.partition(" ")
        if rest:
            table[number] = rest
        return table.get(number, number)

    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            key, equals, value = line.partition("=")
            if line.startswith("desc: Trigger:"):
                name = line.split()[-1]
            elif key in ("fl", "fi", "fe", "cfi", "cfl") and equals:
                file = resolve(files, value)
                if key == "fl":
                    current = file
            elif key in ("fn", "cfn", "ob", "cob") and equals:
                if key == "fn":
                    owner = current
            elif key == "calls" and equals:
                skip = True
            elif line and (line[0].isdigit() or line[0] in "+-*"):
                if skip:
                    skip = False
                elif NETWORK not in owner:
                    total += int(line.split()[-1])
    return name, total


def work(ranks, *parameters):
    """Instructions of rank 0 by "start", "call" and "tick", and what the program says."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={folder}/out", str(PROGRAM),
             str(ranks), *parameters], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{PROGRAM} {ranks}: {done.stderr[-400:]}")
        found = dict(count(path) for path in sorted(pathlib.Path(folder).iterdir()))
    found.update((line.split()[0], int(line.split()[1])) for line in done.stdout.splitlines())
    return found


@unittest.skipIf(shutil.which("valgrind") is None, "there is no valgrind here")
class Work(unittest.TestCase):
    """Sixteen times the ranks: a call's steps double, and so may what it costs."""

    @classmethod
    def setUpClass(cls):
        cls.few, cls.many = work(8), work(128)

    def test_of_a_call_grows_with_its_steps(self):
        self.assertLess(self.many["call"], 3.5 * self.few["call"])

    def test_of_a_look_at_nothing_does_not_grow(self):
        self.assertLess(self.many["tick"], 1.2 * self.few["tick"])

    def test_lanes_are_those_of_the_algorithms(self):
        self.assertEqual(self.few["peers"], 7)
        self.assertLessEqual(self.many["peers"], 2 * 7)


def main(words):
    columns = ("start", "call", "tick", "lanes", "peers", "bytes")
    print("ranks", *columns, sep="\t")
    for ranks in words or ["16", "64"]:
        found = work(int(ranks))
        print(ranks, *(found.get(column, "-") for column in columns), sep="\t", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1:])
    else:
        unittest.main()
