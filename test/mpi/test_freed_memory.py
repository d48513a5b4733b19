#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# both series
"""Memory of a process that is given back, as Open MPI hears of it: what verbs rails read in place must not become other memory."""

import unittest

from mpi_case import MpiCase


class FreedMemory(MpiCase):
    def test_each_way_to_give_it_back(self):
        self.passes("host_memory", 1)


if __name__ == "__main__":
    unittest.main()
