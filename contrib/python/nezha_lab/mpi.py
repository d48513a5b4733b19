# SPDX-License-Identifier: BSD-3-Clause
"""mpirun across the nodes.

Everything the lab wants of Open MPI goes through the environment, so that a --mca of the caller's wins over it.
"""

import math
import os
import subprocess

from . import mpich, openmpi, processes
from .errors import LabError, LabUsage
from .tools import require

# The node's own tmpfs: session files of two nodes never meet, and go with the lab.
_SESSIONS = "/dev/shm"
_LAUNCHERS_NETWORK = "mgmt"


class Job(subprocess.Popen):
    """An mpirun and all that it started, on every node.

    As a context it waits for the job's end, as Popen does; but what leaves it by an exception ends the job first.
    """

    def __init__(self, argv, mark, **options):
        self.mark = mark
        super().__init__(argv, **options)

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.end()
        super().__exit__(kind, value, trace)

    def pids(self, program=None):
        return [pid for pid in processes.marked(self.mark) if program in (None, processes.program(pid))]

    def end(self, seconds=2.0):
        """Asks mpirun to stop, waits, then kills what is left of the job."""
        self.terminate()
        try:
            self.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        processes.kill_until_none(lambda: processes.marked(self.mark))
        self.wait()


class Mpi:
    def mpirun(self, args, np=None, ppn=None, timeout=None, capture_output=True, text=True, **options):
        """Runs [mpirun options..., program, arguments...] to its end and returns a CompletedProcess.

        After timeout seconds the whole job is killed and subprocess.TimeoutExpired raised. Other options: popen's.
        """
        if capture_output:
            options.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        options.setdefault("stdin", subprocess.DEVNULL)
        job = self.popen(args, np, ppn, text=text, **options)
        try:
            output, errors = job.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as expired:
            job.end()
            expired.stdout, expired.stderr = job.communicate()
            raise
        except BaseException:
            job.end()
            raise
        if text:
            output, errors = openmpi.output(output), openmpi.output(errors)
        return subprocess.CompletedProcess(job.args, job.returncode, output, errors)

    def popen(self, args, np=None, ppn=None, incumbent_rails="all", component_dir=None, nezha=True, by_mpich=False,
              env=None, cwd=None, **options):
        """Starts mpirun in node n0 and returns a Job (a subprocess.Popen).

        np defaults to ppn per node, ppn to np spread evenly; a list is that of each node. incumbent_rails: 'all' that nodes share,
        'mgmt', a rail or several.
        component_dir: where a Nezha that is not installed lies. nezha=False keeps an installed one out. by_mpich: the program is
        MPICH's, which then is the incumbent; mpiexec.hydra starts it, whose options come first.
        """
        require(mpich.LAUNCHER if by_mpich else "mpirun")
        slots = hosts(self.spec.nodes, np, ppn)
        names = ",".join(f"n{node}:{count}" for node, count in enumerate(slots) if count)
        if by_mpich:
            own, starter = mpich.over(self._incumbent(incumbent_rails)), mpich.starter(self._agent(), _LAUNCHERS_NETWORK, names)
        else:
            own, starter = self.mpi_environment(incumbent_rails, component_dir, nezha), ["mpirun", "--host", names]
        mark = self.new_mark()
        argv = [*self.nsenter(0, cwd), *starter, "-np", str(sum(slots)), *map(str, args)]
        return Job(argv, mark, env={**os.environ, **own, processes.MARK: mark, **(env or {})}, **options)

    def _agent(self):
        """What starts a command on another node, as ssh does."""
        return os.path.join(self.record["place"], "agent")

    def mpi_environment(self, incumbent_rails="all", component_dir=None, nezha=True):
        """What makes any mpirun that is started in node n0 run across the nodes, given --host n0,n1...; keywords as popen's."""
        return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                **self._settings(incumbent_rails, component_dir, nezha)}

    def shell_environment(self, **keywords):
        """mpi_environment(), and LAB_HOSTS, which is what mpirun's --host takes for one rank on each node."""
        return {**self.mpi_environment(**keywords), "LAB_HOSTS": ",".join(f"n{node}" for node in range(self.spec.nodes))}

    def _settings(self, incumbent_rails, component_dir, nezha):
        rails = ",".join(f"eth{rail}" for rail in range(self.spec.rails))
        settings = {**openmpi.crowded(), **openmpi.by_tcp(),
                    **openmpi.launched_by(self._agent(), _LAUNCHERS_NETWORK, _SESSIONS),
                    "OMPI_MCA_coll_nezha_rail_threads": "0",  # each node believes that all cores are its own
                    "OMPI_MCA_btl_tcp_if_include": self._incumbent(incumbent_rails),
                    "OMPI_MCA_coll_nezha_rail_include": rails}
        if not nezha:
            settings["OMPI_MCA_coll"] = "^nezha"
        if component_dir is not None:
            directory = os.path.abspath(component_dir)
            if not os.path.isfile(os.path.join(directory, "mca_coll_nezha.so")):
                raise LabError(f"component directory '{component_dir}': there is no mca_coll_nezha.so in it")
            settings.update(openmpi.component_path(directory))
        return settings

    def _incumbent(self, rails):
        if rails == "mgmt":
            return "mgmt"
        several = self.spec.shared_rails() if rails == "all" else rails if isinstance(rails, (list, tuple)) else [rails]
        try:
            return ",".join(f"eth{self.spec.rail(rail)}" for rail in several)
        except LabError:
            raise LabUsage(f"incumbent rails '{rails}': all, mgmt or a rail from 0 to {self.spec.rails - 1}") from None


def hosts(nodes, np, ppn):
    """How many ranks each node gets. With ppn nodes are filled one after the other, without they share evenly; a list is the answer."""
    if isinstance(ppn, (list, tuple)):
        return _each(nodes, np, ppn)
    for what, value in (("np", np), ("ppn", ppn)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise LabUsage(f"{what} '{value}': a number from 1 on is allowed")
    if ppn is None:
        total = nodes if np is None else np
        return [total // nodes + (node < total % nodes) for node in range(nodes)]
    total = nodes * ppn if np is None else np
    if math.ceil(total / ppn) > nodes:
        raise LabUsage(f"np '{total}': {nodes} nodes with {ppn} ranks each hold at most {nodes * ppn}")
    return [min(ppn, max(0, total - node * ppn)) for node in range(nodes)]


def _each(nodes, np, ppn):
    if len(ppn) > nodes or not all(isinstance(count, int) and count >= 0 for count in ppn) or np not in (None, sum(ppn)):
        raise LabUsage(f"ranks {','.join(map(str, ppn))}: a number for each of {nodes} nodes is allowed, with their sum as np")
    return [*ppn, *[0] * (nodes - len(ppn))]
