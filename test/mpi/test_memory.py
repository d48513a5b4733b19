#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What communicators leave in memory. Not under sanitizers, whose own memory would be measured."""

import re
import unittest

from mpi_case import RAILS, MpiCase


class Memory(MpiCase):
    def test_many_communicators(self):
        """Buffers as long as the vector are shared by all communicators, and go back to the system when nobody calls."""
        for algorithm in ("mesh", "halving"):
            with self.subTest(algorithm):
                done = self.passes("duplicates", 3, "8", str(16 << 20), "1", "4", params={**RAILS, "coll_nezha_algorithm": algorithm})
                resident = {when: float(mib) for when, mib in re.findall(r"(.*): (.*) MiB", done.stdout)}
                self.assertLess(resident["after calls"], 40, "not one for each")
                self.assertLess(resident["idle"], 12)
                self.assertLess(resident["freed"], 12)


if __name__ == "__main__":
    unittest.main()
