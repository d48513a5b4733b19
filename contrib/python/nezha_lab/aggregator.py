# SPDX-License-Identifier: BSD-3-Clause
"""An aggregation service in a node of the lab.

    with Lab(nodes=4, rails=["1gbit", "1gbit"], node_rates={(3, 0): "4gbit", (3, 1): "4gbit"}) as lab, \\
            Aggregator(lab, 3, program, key) as service:
        lab.mpirun([*service.parameters(key), "./program"], np=3)

Its node is one like others, with a rate of its own (node_rates), on which no rank runs: the ranks are on the first nodes.
If it is the hub of rails (Lab's hubs), the service uses these alone.
The verbs for rails break its links; send() and end() stop, continue and kill it. For a tree, options name the upstream one:

    with Aggregator(lab, 4, program, key) as root, Aggregator(lab, 5, program, key, ["--upstream", root.place]) as rack:
"""

import os
import signal
import subprocess
import tempfile

from .errors import LabError
from .spec import mgmt_address

PORT = 4757
_OF_RANK = 'case $OMPI_COMM_WORLD_RANK in {cases} esac; export OMPI_MCA_coll_nezha_aggregators; exec "$@"'


def named_by_rank(services):
    """What has rank n of a job name services[n], as words before its program; the rest of parameters() is the same for all."""
    cases = " ".join(f"{rank}) OMPI_MCA_coll_nezha_aggregators={service.place};;" for rank, service in enumerate(services))
    return ["sh", "-c", _OF_RANK.format(cases=cases), "sh"]


def common_parameters(key, share=None):
    """Of a job that uses aggregators, whichever these are, as options of mpirun."""
    shares = [] if share is None else ["--mca", "coll_nezha_aggregator_share", str(share)]
    return ["--mca", "coll_nezha_aggregator_key", key, *shares]


class Aggregator:
    """nezha-aggregate in that node. As a context manager it ends with the block."""

    def __init__(self, lab, node, program, key, options=()):
        self._lab, self._node = lab, lab.spec.node(node)
        rails = ",".join(f"eth{rail}" for rail in lab.spec.own_rails(self._node) or range(lab.spec.rails))
        self._command = [program, "--key", key, "--rails", rails, "--listen", self.place, *options]
        self._log = tempfile.TemporaryFile("w+")
        self._process = None

    @property
    def place(self):
        """On the management network, so that it can be greeted while its rails are cut."""
        return f"{mgmt_address(self._node)}:{PORT}"

    def parameters(self, key, share=None, others=()):
        """What makes a job use it, and others beside it, as options of mpirun."""
        places = ",".join(service.place for service in (self, *others))
        return ["--mca", "coll_nezha_aggregators", places, *common_parameters(key, share)]

    @property
    def pid(self):
        """While it runs."""
        return self._process.pid

    def start(self):
        """Returns when it serves. After an end it may be started again; the log goes on."""
        self._process = subprocess.Popen([*self._lab.nsenter(self._node), *self._command], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=self._log, text=True)
        with self._process.stdout as output:
            if not output.readline().startswith("nezha-aggregate: ready"):
                self._process.wait()
                raise LabError(f"no aggregator in n{self._node}: {self.log().strip()}")
        return self

    def log(self):
        """All that it has said on standard error so far."""
        with open(f"/proc/self/fd/{self._log.fileno()}", encoding="utf-8", errors="replace") as file:
            return file.read()

    def send(self, number):
        os.kill(self._process.pid, number)

    def end(self, number=signal.SIGTERM):
        """Returns its exit status, None where it did not run; one that is stopped goes on first."""
        process, self._process = self._process, None
        if process is None:
            return None
        if process.poll() is None:
            os.kill(process.pid, signal.SIGCONT)
            os.kill(process.pid, number)
        return process.wait(timeout=30)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.end()
        self._log.close()
