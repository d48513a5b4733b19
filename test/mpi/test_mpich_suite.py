#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's tests that were not built, or are not run, are a failure that says why: on a few small programs in their place."""

import os
import subprocess
import tempfile
import unittest
from unittest import mock

import mpich_suite
from mpich_case import MpichCase

CONFIGURE = """#!/bin/sh
echo "configuring" >>../configurations
mkdir coll
cp "${0%/*}/coll/Makefile" coll
cp "${0%/*}/coll/testlist" coll
"""
FAILS = """echo "libtool.m4: error: no Fortran"
echo "configure: error: in \\`here':"
echo "configure: error: no MPI" >&2
exit 1
"""
MAKEFILE = """%:
\t@echo "int main(void) { return 0; }" >$@.c
\t$(CC) -o $@ $@.c
p_%:
\t@echo "p_$*.c: undefined reference to MPI_Bcast_init"; false
"""
TESTLIST = "allred 4 arg=-count=10\nallred 7\np_bcast 4\ngather 4\nredscat 4\n"
TESTS = 4


class Suites(unittest.TestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.root, self.source = root.name, os.path.join(root.name, "mpich-1.0", "test", "mpi")
        os.makedirs(os.path.join(self.source, "coll"))
        self.write("configure", CONFIGURE)
        self.write("coll/Makefile", MAKEFILE)
        self.write("coll/testlist", TESTLIST)
        for name, *_ in mpich_suite.CORRECTIONS:
            self.write(f"coll/{name}", "")
        for name, value in (("ROOT", self.root), ("TESTS", TESTS)):
            self.enterContext(mock.patch.object(mpich_suite, name, value))
        self.series(4)

    def series(self, major):
        self.enterContext(mock.patch.object(mpich_suite.openmpi, "major", lambda: major))

    def write(self, name, text):
        path = os.path.join(self.source, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def made(self, chosen=None):
        return [(mpich_suite.name_of(test), *test[1:]) for test in mpich_suite.make(chosen)]

    def fails(self, *patterns):
        with self.assertRaises(AssertionError) as failure:
            mpich_suite.make()
        for pattern in patterns:
            self.assertRegex(str(failure.exception), pattern)

    def test_built(self):
        self.assertEqual(self.made(), [("allred", 4, ["-count=10"]), ("allred", 7, []), ("redscat", 4, [])])
        self.assertEqual(self.made({"redscat"}), [("redscat", 4, [])])

    def test_nothing_built(self):
        self.write("coll/Makefile", "%:\n\t@echo \"$@.c:1: error: no type int64_t\" >&2; false\n")
        self.fails("^2 of 2 .*allred, redscat", "allred.c:1: error: no type int64_t")

    def test_one_not_built(self):
        self.write("coll/Makefile", MAKEFILE + "redscat:\n\t@echo \"redscat.c:7: error: what?\"; false\n")
        self.fails("^1 of 2 .*: redscat.c:7: error: what")

    def test_not_known_to_be_missing(self):
        self.series(5)
        self.fails("^1 of 3 .*p_bcast.*undefined reference")

    def test_not_built_again(self):
        """What an earlier run has built is no test of what is there now."""
        self.made()
        with open(os.path.join(self.root, "build", "coll", "Makefile"), "w", encoding="ascii") as file:
            file.write(".PHONY: redscat\nredscat:\n\tfalse\n")
        self.fails("^0 of 2 ", r"\*\*\* ")

    def test_shorter_list(self):
        self.write("coll/testlist", TESTLIST.replace("redscat", "scan"))
        self.fails("has 3 of the 4 tests")

    def test_without_a_chosen_one(self):
        with self.assertRaisesRegex(AssertionError, "has no redscat9"):
            mpich_suite.make({"allred", "redscat9"})

    def test_not_configured(self):
        self.write("configure", CONFIGURE + FAILS)
        self.fails("configured: configure: error: no MPI")
        self.fails("configured: configure: error: no MPI")  # nor is half of it used
        self.write("configure", CONFIGURE)
        self.assertEqual(len(self.made()), TESTS - 1)

    def test_configured_once(self):
        self.made({"redscat"})
        self.made()
        with open(os.path.join(self.root, "configurations"), encoding="ascii") as file:
            self.assertEqual(file.read(), "configuring\n")


class Runs(unittest.TestCase):
    def failure(self, tests, on=None):
        """What a script of these tests has to say that runs `on` of them."""
        class Script(MpichCase):
            setUpClass = classmethod(lambda cls: None)

            def runTest(self):
                self.tests = tests
                self.pass_with(lambda argv, ranks: subprocess.CompletedProcess(argv, 0, " No Errors", "carried 2 calls"))

            def on(self, ranks):
                return super().on(ranks) if on is None else on

        result = unittest.TestResult()
        Script().run(result)
        return "".join(text for _, text in result.failures + result.errors)

    def test_all(self):
        self.assertEqual(self.failure([("gather", 1, []), ("redscat", 1, [])]), "")

    def test_none(self):
        self.assertIn("no test to run", self.failure([]))

    def test_left_out(self):
        tests = [("gather", 1, []), ("redscat", 1, [])]
        self.assertIn("redscat", self.failure(tests, on=tests[:1]))


if __name__ == "__main__":
    unittest.main()
