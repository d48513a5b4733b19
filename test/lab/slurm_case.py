# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm of a test's own on a lab: a slurmd in each node, all else in n0.

Its files lie in the lab's file system and its daemons in the lab's nodes, so that both go with the lab, however that ends, and
none is shared with a Slurm that this machine may have.
"""

import os
import shutil
import subprocess
import unittest

from command_case import COMMAND, COMPONENT
from lab_case import eventually, make_lab
from nezha_lab import tools

PACKAGES = {"slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client", "munged": "munge"}
SECONDS = 60
RATE = "100mbit"  # so that what the doctor measures does not depend on what else this machine does
# Of the lab's settings those that a cluster with Slurm does not need: Slurm knows the nodes, and users name the rails.
NOT_SET = ("coll_nezha_rail_include", "btl_tcp_if_include", "plm", "plm_rsh_agent", "plm_ssh_agent")
OF_A_JOB = ("SLURM", "SBATCH", "SALLOC")  # how the names of variables begin that a job of the machine's Slurm has

# /dev/shm is a node's own, /tmp is not. No cgroups: the nodes have none (with Debian 12's Slurm one kind has to be named).
CONFIGURATION = """\
ClusterName=lab
SlurmctldHost=n0
SlurmUser=root
AuthInfo=socket={place}/munge.socket
StateSaveLocation={place}
SlurmctldPidFile={place}/slurmctld.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdSpoolDir={place}/%n
SlurmdPidFile={place}/%n.pid
SlurmdLogFile={place}/%n.log
TmpFS=/dev/shm
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/none
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName=n[0-{last}] CPUs=4
PartitionName=all Nodes=ALL Default=YES
"""
PREPARE = """\
umask 077
mkdir {place}
printf %s '{configuration}' > {place}/slurm.conf
echo CgroupPlugin={cgroups} > {place}/cgroup.conf
head -c 1024 /dev/urandom > {place}/munge.key
exec munged --force --socket={place}/munge.socket --key-file={place}/munge.key --pid-file={place}/munged.pid \\
    --log-file={place}/munged.log --seed-file={place}/munged.seed
"""


class Slurm:
    """Up until the class of tests is over. Skips it where there can be none."""

    def __init__(self, case, nodes):
        tools.add_system_paths()
        missing = sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})
        if missing:
            raise unittest.SkipTest(f"Slurm is not installed here: apt-get install {' '.join(missing)}")
        if os.geteuid() != 0:
            raise unittest.SkipTest("Slurm's daemons need root")
        self.lab = make_lab(case, nodes=nodes, rails=[RATE, RATE])
        self.place = os.path.join(self.lab.record["place"], "slurm")
        settings = self.lab.mpi_environment(component_dir=COMPONENT)
        for name in NOT_SET:
            for prefix in ("OMPI", "PRTE"):
                settings.pop(f"{prefix}_MCA_{name}", None)
        self.env = {**settings, "SLURM_CONF": f"{self.place}/slurm.conf",
                    "PATH": os.path.dirname(COMMAND) + ":" + os.environ["PATH"]}
        self._start(nodes)

    def _start(self, nodes):
        configuration = CONFIGURATION.format(place=self.place, last=nodes - 1)
        self._must(PREPARE.format(place=self.place, configuration=configuration, cgroups=_cgroups()))
        self._must("slurmctld")
        for node in range(nodes):
            self._must("slurmd", node)
        if not eventually(lambda: self.run("sinfo -h -o '%t %D'").stdout == f"idle {nodes}\n", SECONDS):
            raise RuntimeError(f"Slurm's nodes did not come up:\n{self.logs()}")

    def _must(self, command, node=0):
        done = self.run(command, node)
        if done.returncode != 0:
            raise RuntimeError(f"{command}:\n{done.stdout}{self.logs()}")

    def logs(self):
        return self.run(f"tail -n 15 {self.place}/*.log").stdout

    def run(self, script, node=0, cwd="/", **env):
        """A shell's script in a node, its errors among its output."""
        foreign = [f"--unset={name}" for name in os.environ if name.startswith(OF_A_JOB)]
        return self.lab.exec(node, ["env", *foreign, *(f"{name}={value}" for name, value in {**self.env, **env}.items()),
                                    "bash", "-euc", script], cwd=cwd, text=True, errors="replace", timeout=120,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def _cgroups():
    """From 23.11 on Slurm can do without."""
    words = subprocess.run(["slurmd", "-V"], capture_output=True, text=True, check=False).stdout.split()
    version = tuple(map(int, words[-1].split(".")[:2])) if words else (0,)
    return "disabled" if version >= (23, 11) else "cgroup/v1"
