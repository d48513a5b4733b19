# SPDX-License-Identifier: BSD-3-Clause
"""Builds the simulator with one of the mutations of mutations.py."""

import os
import subprocess

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("NEZHA_BUILD_DIR") or os.getcwd()


def simulator():
    """Makes sim_run, of which all mutants need the objects, and returns its path."""
    subprocess.run(["make", "-s", "-C", BUILD, "test/sim/sim_run"], check=True)
    return os.path.join(BUILD, "test", "sim", "sim_run")


def mutated(path, changes):
    """The text of a source with all changes. Raises ValueError where one does not fit."""
    with open(os.path.join(TOP, path), encoding="utf-8") as source:
        text = source.read()
    for old, new in changes:
        if text.count(old) != 1:
            raise ValueError(f"{path} has {text.count(old)} times: {old.strip()}")
        text = text.replace(old, new)
    return text


def built(folder, path, changes):
    """Compiles a mutant in `folder` and returns its path, or raises ValueError."""
    with open(os.path.join(folder, "mutant.cc"), "w", encoding="utf-8") as source:
        source.write(mutated(path, changes))
    program = os.path.join(folder, "mutant")
    made = subprocess.run(["make", "-C", BUILD, "-o", "test/sim/sim_run", program], capture_output=True, text=True,
                          check=False)
    if made.returncode != 0:
        raise ValueError(f"does not compile: {made.stderr.strip()[-500:]}")
    return program
