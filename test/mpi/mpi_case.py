# SPDX-License-Identifier: BSD-3-Clause
"""What the MPI tests share: mpirun on this host, with the component of the build under test."""

import os
import re
import stat
import subprocess
import tempfile
import unittest

from nezha_lab import openmpi

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("NEZHA_BUILD_DIR") or os.path.join(HERE, "..", "..", "build", "check")
COMPONENT = os.environ.get("NEZHA_COMPONENT_DIR") or os.path.join(BUILD, "component")
LONG = "NEZHA_LONG" in os.environ
EVERY_ALGORITHM = ("ring", "mesh", "single_step", "doubling", "halving")
# For what other tests have with each of them.
SOME_ALGORITHMS = EVERY_ALGORITHM if LONG else ("mesh", "halving")
TRIES = 30  # of runs that are to show a help text

# Ranks of one host talk over two rails on the loopback interface. Most tests count what rails carry; calls that learning
# leaves to Open MPI would be missing.
RAILS = {"coll_nezha_single_node": "2", "coll_nezha_learn": "0"}
SAME_ORDER = {"coll_nezha_strict_persistent_order": "1"}  # persistent calls are carried


def program(name):
    """The path of a compiled program of this folder."""
    return os.path.join(BUILD, "test", "mpi", name)


def preloaded(name):
    """The path of a library of this folder that is made to be preloaded."""
    path = os.path.join(BUILD, "test", "mpi", ".libs", f"{name}.so")
    if not os.path.exists(path):
        raise AssertionError(f"{path} was not built")
    return path


def environment(params, component):
    """MCA parameters travel by the environment, so that mpirun's own options and those of a wrapper win."""
    if not os.path.isfile(os.path.join(COMPONENT, "mca_coll_nezha.so")):
        raise AssertionError(f"there is no component in {COMPONENT}: contrib/build makes one")
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           **openmpi.crowded(), **openmpi.every_help_text(), **(openmpi.component_path(COMPONENT) if component else {}),
           **{f"OMPI_MCA_{name}": value for name, value in params.items()}}


def mpirun(command, np, params=None, component=True, preload=(), timeout=240, cwd=None, env=None):
    """Runs `command` (a list) on `np` ranks to its end. Its whole job is gone when this returns or raises."""
    preload = [*filter(None, [os.environ.get("NEZHA_PRELOAD")]), *preload]
    options = ["-x", "LD_PRELOAD=" + ":".join(preload)] if preload else []
    job = subprocess.Popen(["mpirun", "-np", str(np), *options, *command], stdin=subprocess.DEVNULL, cwd=cwd,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                           env={**environment(RAILS if params is None else params, component), **(env or {})})
    try:
        output, errors = job.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as expired:
        job.terminate()  # mpirun ends its ranks
        output, errors = job.communicate(timeout=30)
        raise AssertionError(f"{command} did not end within {timeout} s\n{output[-2000:]}{errors[-2000:]}") from expired
    finally:
        job.kill()
    return subprocess.CompletedProcess(job.args, job.returncode, openmpi.output(output), openmpi.output(errors))


def plain(text):
    """Help texts are wrapped and framed; words in order are enough."""
    return " ".join(text.split())


class MpiCase(unittest.TestCase):
    def passes(self, name, np, *arguments, **options):
        """Runs a program of this folder, which must say that it passed; returns the finished process."""
        done = mpirun([program(name), *arguments], np, **options)
        self.assertTrue(done.returncode == 0 and "passed" in done.stdout.splitlines(),
                        f"{name} on {np} ranks: status {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
        return done

    def says(self, pattern, run):
        """Calls `run` until its standard error, words in order, matches; returns what it returned then. Open MPI 4.1 loses
        one help text in five on a busy machine, its own too, mostly with an unpacking error of mpirun in its place; on some
        machines it loses more."""
        accidents = 0
        for _ in range(TRIES):
            done = run()
            if re.search(pattern, plain(done.stderr)):
                return done
            accidents += "util/show_help.c" in done.stderr
        self.fail(f"'{pattern}' is not in '{plain(done.stderr)}', the last of {TRIES}; mpirun lost the text in {accidents}")

    def counters(self, done):
        """What the program "counters" printed: {name: [values]}, empty lists for variables that are absent."""
        lines = [line.split() for line in done.stdout.splitlines()]
        return {words[0].replace("coll_nezha_", ""): [int(word) for word in words[1:] if word != "absent"]
                for words in lines if len(words) > 1 and re.match("coll_nezha_|least", words[0])}

    def nothing_carried(self, done):
        values = self.counters(done)
        self.assertEqual(values["calls"] or [0], [0])
        self.assertIn(values["least"], ([0], [-1]))

    def wrapper(self, text):
        """A shell script that runs its arguments after `text`; gone with the test."""
        file = tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False)
        with file:
            file.write(f"#!/bin/sh\n{text}\nexec \"$@\"\n")
        os.chmod(file.name, stat.S_IRWXU)
        self.addCleanup(os.unlink, file.name)
        return file.name
