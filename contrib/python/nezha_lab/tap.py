#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs unittest files and prints one line per test: 'ok NAME', 'not ok NAME' or 'skip NAME: reason'.

tap.py FILE|DIRECTORY...   a directory stands for the test_*.py in it
What a failed test had to say follows its line, behind '# '. The exit status is 1 when a test failed or none was found.
"""

import argparse
import importlib.util
import os
import sys
import unittest


class Lines(unittest.TestResult):
    """Buffers nothing: each line is out when its test is over, so that a hang can be seen."""

    def __init__(self, out=sys.stdout):
        super().__init__()
        self.out = out
        self._subtest_failed = False

    def _print(self, line, details=""):
        print(line, file=self.out)
        for detail in details.splitlines():
            print(f"# {detail}", file=self.out)
        self.out.flush()

    def startTest(self, test):
        super().startTest(test)
        self._subtest_failed = False

    def addSuccess(self, test):
        self._print(f"ok {_name(test)}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._print(f"not ok {_name(test)}", _said(err, self.failures[-1][1]))

    def addError(self, test, err):
        super().addError(test, err)
        self._print(f"not ok {_name(test)}", _said(err, self.errors[-1][1]))

    def addSubTest(self, test, subtest, err):
        """One line for the whole test, at its first failed part; unittest reports no success then."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            if not self._subtest_failed:
                self._print(f"not ok {_name(test)}")
            self._subtest_failed = True
            self._print(f"# {subtest}", _said(err, self._exc_info_to_string(err, test)))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._print(f"skip {_name(test)}: {' '.join(reason.split())}")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self._print(f"ok {_name(test)}")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._print(f"not ok {_name(test)}", "it was expected to fail")


def _name(test):
    """module.Class.test, also for a class or module whose set-up failed or was skipped."""
    text = test.id()
    if text.startswith("setUp") or text.startswith("tearDown"):
        return text.replace(" (", ".").rstrip(")")
    return text


def _said(err, trace):
    """What went wrong before where: who sums up shows the beginning."""
    return f"{err[0].__name__}: {err[1]}\n{trace}"


def load(path):
    """Tests of one file, found by its path; its directory is importable, for what the files of a directory share."""
    directory, base = os.path.split(os.path.abspath(path))
    if directory not in sys.path:
        sys.path.insert(0, directory)
    name = os.path.splitext(base)[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def _files(paths):
    for path in paths:
        if os.path.isdir(path):
            yield from sorted(os.path.join(path, entry) for entry in os.listdir(path)
                              if entry.startswith("test_") and entry.endswith(".py"))
        else:
            yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("-k", action="append", metavar="PATTERN", help="only tests whose name contains it")
    options = parser.parse_args()
    if options.k:
        unittest.defaultTestLoader.testNamePatterns = [f"*{pattern}*" for pattern in options.k]
    # Not this file's own directory, which Python put there: the package's modules are no top-level modules.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    result = Lines()
    count = 0
    for path in _files(options.paths):
        suite = load(path)
        count += suite.countTestCases()
        suite.run(result)
    if count == 0:
        print("not ok tap: no test was found")
    return 0 if count and result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
