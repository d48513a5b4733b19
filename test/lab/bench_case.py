# SPDX-License-Identifier: BSD-3-Clause
"""What the bench's tests share: the path to its modules, what the build made, and rounds made up from numbers."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from lab_case import make_lab

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "contrib", "python"))

from nezha_bench.cases import PRESETS  # noqa: E402 (the path must be set first)
from nezha_bench.launch import Launch  # noqa: E402
from nezha_bench.rounds import Measured  # noqa: E402
from nezha_lab import openmpi  # noqa: E402

BUILD = os.environ.get("NEZHA_BUILD_DIR") or os.path.join(TOP, "build", "default")
BENCH_COMMAND = os.path.join(TOP, "contrib", "bench")
_PROGRAMS = os.path.join(BUILD, "contrib", "programs")


def program(name):
    """A program of the build, or a skip that says why there is none."""
    path = os.path.join(_PROGRAMS, name)
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest(f"{path} was not built")
    if shutil.which("mpirun") is None:
        raise unittest.SkipTest("there is no mpirun here")
    return path


def mpirun(ranks, *arguments):
    """On this host, without Nezha."""
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_coll": "^nezha", **openmpi.crowded(), **openmpi.by_tcp()}
    return subprocess.run(["mpirun", "-np", str(ranks), *arguments],
                          env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


class OnTheLab(unittest.TestCase):
    """Runs contrib/bench; skipped where the build or the lab is missing."""

    @classmethod
    def setUpClass(cls):
        program("nezha_allreduce_bench")
        make_lab(cls, nodes=2, rails=["none"])

    @staticmethod
    def run_bench(*arguments, cwd=None):
        return subprocess.run([sys.executable, BENCH_COMMAND, "--build", BUILD, *arguments], cwd=cwd, capture_output=True,
                              text=True, timeout=300, check=False, stdin=subprocess.DEVNULL)

    def bench(self, *arguments, cwd=None):
        """Also what it wrote by --json, None where it did not come to that."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "bench.json")
            done = self.run_bench("--json", path, *arguments, cwd=cwd)
            if not os.path.exists(path):
                return done, None
            with open(path, encoding="utf-8") as file:
                return done, json.load(file)

    def component_dir(self):
        """Where the build's component lies, or a skip."""
        path = os.environ.get("NEZHA_COMPONENT_DIR") or os.path.join(BUILD, "component")
        if not os.path.isfile(os.path.join(path, "mca_coll_nezha.so")):
            self.skipTest(f"there is no component in {path}")
        return path


def launch(competitor, times, nezha=None, **members):
    """One whose sizes take `times` ({size: us}); nezha: the calls that the rails carried at each size, of 10."""
    header = {"nezha": nezha is not None, "nezha_threshold": 4096}
    sizes = {size: {"avg_us": us, "median_us": us, "max_us": us, "iterations": 10, "cpu_s_per_gib": 1.0, **members}
             for size, us in times.items()}
    for size in sizes if nezha is not None else ():
        sizes[size].update(nezha_calls=nezha[size], nezha_bytes=nezha[size] * size)
    return Launch(competitor, header, sizes)


# Of the made-up rounds below: microseconds by size, calls that the rails carried of 10, and the limits' seconds.
SIZES = {1024: 50.0, 1 << 20: 6000.0}
CARRIED = {1024: 0, 1 << 20: 12}
LIMITS = {1024: 0.0, 1 << 20: 0.005}


def rounds(count=6, nezha=CARRIED):
    """Load grows from round to round; Open MPI takes half as long again at 1 KiB and twice as long at 1 MiB."""
    def one(load):
        own = {size: load * us for size, us in SIZES.items()}
        return {"nezha": launch("nezha", own, nezha), "again": launch("nezha", own, nezha),
                "ompi-all": launch("ompi-all", {1024: 1.5 * own[1024], 1 << 20: 2.0 * own[1 << 20]})}

    return [one(1.0 + 0.1 * number) for number in range(count)]


def measured(launches, limits, subject="nezha", case="1+1"):
    """launches: a list of {who: Launch}, the subject again as 'again'."""
    competitors = [subject] + [who for who in launches[0] if who not in (subject, "again")]
    return Measured(PRESETS[case], subject, competitors, rounds=launches, limits=limits)
