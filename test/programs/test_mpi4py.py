#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's Allreduce of numpy arrays: several types, operations and sizes, in place too."""

import subprocess
import unittest

from program_case import ProgramCase

PYTHON = "/usr/bin/python3"  # the one that the distribution's mpi4py belongs to

SCRIPT = """
import hashlib, sys, time
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
rank = world.Get_rank()
digest = hashlib.sha256()
warm = numpy.zeros(1)
for _ in range(100):
    world.Allreduce(MPI.IN_PLACE, warm)
    time.sleep(0.002)
for count in (1, 1000, 50001, 1000000):
    numbers = (numpy.arange(count) * (rank + 3)) % 1009
    for kind in ("i4", "i8", "f4", "f8", "c16"):
        for op in (MPI.SUM, MPI.MAX) if kind != "c16" else (MPI.SUM,):
            result = numpy.empty(count, kind)
            world.Allreduce(numbers.astype(kind), result, op=op)
            digest.update(result.tobytes())
            again = numbers.astype(kind)
            world.Allreduce(MPI.IN_PLACE, again, op=op)
            assert (again == result).all(), (count, kind)
sys.stdout.write(f"rank {rank} {digest.hexdigest()}\\n")  # in one piece, so that ranks do not mix
"""


class Mpi4py(ProgramCase):
    def setUp(self):
        if subprocess.run([PYTHON, "-c", "import mpi4py, numpy"], capture_output=True, check=False).returncode != 0:
            self.skipTest("mpi4py and numpy are not installed")

    def test_numpy_arrays(self):
        # Of the 72 calls that are compared those of 1000 elements and more: 4000 bytes, while the first 100 calls have 8.
        self.same_results(calls=54, of_at_least=2 << 10, largest=8 << 20)

    def test_numpy_arrays_while_sizes_are_learned(self):
        self.same_results(learn=1)

    def same_results(self, **options):
        (off, _), (on, _) = self.on_and_off([PYTHON, "-c", SCRIPT], 3, **options)
        self.assertEqual(len(off.stdout.splitlines()), 3)
        self.assertEqual(sorted(on.stdout.splitlines()), sorted(off.stdout.splitlines()))


if __name__ == "__main__":
    unittest.main()
