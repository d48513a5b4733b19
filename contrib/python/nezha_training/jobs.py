# SPDX-License-Identifier: BSD-3-Clause
"""One training job on the lab: who carries its gradients, and what it tells while it runs."""

import dataclasses
import json
import os
import re
import statistics

from nezha_bench import launch, stolen
from nezha_bench.carried import reported
from nezha_bench.competitors import AGAIN, ALL, LABELS, NEZHA, ONE
from nezha_bench.excerpt import excerpt
from nezha_lab.errors import LabError

PYTHON = "/usr/bin/python3"  # the one that the distribution's PyTorch belongs to
GLOO_ONE, GLOO_ALL = "torch-gloo-one", "torch-gloo-all"
COMPETITORS = (NEZHA, ONE, ALL, GLOO_ONE, GLOO_ALL)
NAMES = {**LABELS, GLOO_ONE: "PyTorch's Gloo, one rail", GLOO_ALL: "PyTorch's Gloo, all rails", AGAIN: "Nezha again"}
MODELS = {"alexnet": "AlexNet", "vgg11": "VGG-11"}
_STORE = "29500"  # the port at which Gloo's ranks find one another
_SETTLED = re.compile(r"from (\S+) bytes: ([^,]+), .*?settled after (\d+) calls")


@dataclasses.dataclass
class Job:
    """Of a program's run: its lines, and what Nezha said. carried: {size class: calls of rank 0 that rails carried}, empty without
    Nezha. settled: {size class: [candidate, calls until then]}, where learning came to that. stolen: stolen.py's part."""

    competitor: str
    start: dict = dataclasses.field(default_factory=dict)
    iterations: list = dataclasses.field(default_factory=list)
    end: dict = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    carried: dict = dataclasses.field(default_factory=dict)
    settled: dict = dataclasses.field(default_factory=dict)
    stolen: float = 0.0

    def losses(self):
        return [one["loss"] for one in self.iterations]

    def seconds_per_iteration(self, warm):
        """The mean of those behind the first `warm`."""
        return statistics.fmean(one["seconds"] for one in self.iterations[warm:])

    def computing(self):
        return statistics.median(self.end["compute_seconds"])


@dataclasses.dataclass
class Launcher:
    """case: nezha_bench.cases.Case. words: of the program, but for its length."""

    case: object
    program: str
    component_dir: str
    words: list

    def of(self, competitor, length, table=()):
        """(arguments of mpirun, keywords of Lab.popen). table: ("coll_nezha_table" or "coll_nezha_table_save", FILE)."""
        keywords = {"np": self.case.nodes, "ppn": 1}
        training = [PYTHON, self.program, *self.words, *length]
        if competitor == NEZHA:
            words = ["coll_nezha_report", "1", "coll_nezha_verbose", "1", *table]
            settings = [word for pair in zip(words[::2], words[1::2]) for word in ("--mca", *pair)]
            return [*settings, *training], {**keywords, "component_dir": self.component_dir}
        if competitor in (ONE, ALL):
            return training, {**keywords, "nezha": False, "incumbent_rails": self.case.best_rail() if competitor == ONE else "all"}
        rails = [self.case.best_rail()] if competitor == GLOO_ONE else self.case.shared_rails()
        variables = {"MASTER_ADDR": "n0", "MASTER_PORT": _STORE, "GLOO_SOCKET_IFNAME": ",".join(f"eth{rail}" for rail in rails)}
        exported = [word for pair in variables.items() for word in ("-x", "=".join(pair))]
        return [*exported, *training, "--backend", "gloo"], {**keywords, "nezha": False, "incumbent_rails": "mgmt"}


def run(lab, launcher, competitor, length, most_seconds, table=()):
    """Raises LabError where the program fails, takes too long, or does not train alike on all ranks."""
    arguments, keywords = launcher.of(competitor, length, table)
    done, host = Job(competitor), stolen.Watch()
    job = launch.follow(lab, arguments, keywords, most_seconds, lambda line: _take(line, done))
    if job.expired:
        raise LabError(f"{competitor} was ended: it took longer than {most_seconds:g} s; it had done {len(done.iterations)} iterations")
    if done.end and not done.end["same"]:
        raise LabError(f"{competitor}: the ranks' parameters differ after {done.end['iterations']} iterations")
    if job.status != 0 or not done.end:
        raise LabError(f"{competitor} failed with status {job.status}: {' '.join(arguments)}\n{excerpt(job.words)}")
    done.seconds, done.stolen = job.seconds, host.part()
    read_words(job.words, done)
    return done


def read_words(words, done):
    """Of standard error, what Nezha has carried and learned."""
    done.carried = dict(reported(words))
    done.settled = {size: [candidate, int(calls)] for size, candidate, calls in _SETTLED.findall(words)}
    if done.competitor == NEZHA and not done.carried:
        raise LabError(f"{NEZHA}: the rails carried no call\n{excerpt(words)}")


def _take(line, done):
    if not line.startswith("{"):
        return
    members = json.loads(line)
    kind = members.pop("kind")
    if kind == "iteration":
        done.iterations.append(members)
    else:
        setattr(done, kind, members)


def why_not():
    """Why PyTorch cannot train over MPI here, '' where it can."""
    import subprocess

    asked = "import torch.distributed as one; print(one.is_available() and one.is_mpi_available() and one.is_gloo_available())"
    if not os.access(PYTHON, os.X_OK):
        return f"there is no {PYTHON}"
    done = subprocess.run([PYTHON, "-c", asked], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"{PYTHON} has no PyTorch: python3-torch of a Debian 13 is needed (--debian makes one)"
    return "" if done.stdout.strip() == "True" else f"{PYTHON}'s PyTorch has no MPI: python3-torch of a Debian 13 has (--debian makes one)"
