#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# long
"""A few of MPICH's own tests of collectives with the component carrying them, on nodes of several ranks: one of each kind. All of
them, and more ways to spread ranks: test_mpich.py."""

import unittest

from mpich_case import MpichCase, OnNodesOfSeveralRanks


class SomeMpichTests(OnNodesOfSeveralRanks, MpichCase):
    CHOSEN = ("op_coll", "opsum", "redscat", "bcasttest", "nonblocking")


if __name__ == "__main__":
    unittest.main()
