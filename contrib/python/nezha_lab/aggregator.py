# SPDX-License-Identifier: BSD-3-Clause
"""An aggregation service in a node of the lab: a node of its own, whose ports have a rate of their own (node_rates)."""

import os
import signal
import subprocess

from .errors import LabError

PORT = 4757


class Aggregator:
    """nezha-aggregate in a node, over the node's rails. As a context manager it ends with the block."""

    def __init__(self, lab, node, program, key, options=()):
        self._lab, self._node = lab, lab.spec.node(node)
        rails = ",".join(f"eth{rail}" for rail in range(lab.spec.rails))
        self._argv = [*lab.nsenter(node), program, "--key", key, "--rails", rails, "--listen", self.place, *options]
        self.process = None

    @property
    def place(self):
        """On the management network, so that it can be greeted while its rails are cut."""
        return f"10.9.0.{self._node + 1}:{PORT}"

    def parameters(self, key, share="auto"):
        """What makes a job use it, as options of mpirun."""
        return ["--mca", "coll_nezha_aggregators", self.place, "--mca", "coll_nezha_aggregator_key", key,
                "--mca", "coll_nezha_aggregator_share", str(share)]

    def start(self):
        self.process = subprocess.Popen(self._argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not self.process.stdout.readline().startswith("nezha-aggregate: ready"):
            raise LabError(f"no aggregator in n{self._node}: {self.process.communicate()[1].strip()}")
        return self

    def send(self, number):
        os.kill(self.process.pid, number)

    def end(self, number=signal.SIGTERM):
        """Returns its exit status, and what it logged."""
        process, self.process = self.process, None
        if process is None:
            return None, ""
        os.kill(process.pid, signal.SIGCONT)
        os.kill(process.pid, number)
        _, errors = process.communicate(timeout=30)
        return process.returncode, errors

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.end()
