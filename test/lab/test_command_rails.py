# SPDX-License-Identifier: BSD-3-Clause
"""nezha rails: the component's own answer, on this host and on emulated nodes."""

import argparse
import ctypes
import json
import os
import re
import subprocess
import tempfile
import unittest
from unittest import mock

from command_case import COMMAND, COMPONENT, CommandCase, plain
from lab_case import make_lab, script

from nezha_command import fleet, job, launch, rails

NODES = ("n0", "n1", "n2")
ALL = ("--host", ",".join(NODES))


class Here(CommandCase):
    def test_this_node(self):
        self.assertRegex(plain(self.nezha("rails", env={**os.environ, "OMPI_MCA_coll_nezha_single_node": "2"})),
                         "tcp/lo0 127.0.0.1/32 [?] used .* tcp/lo1 127.0.0.2/32 [?] used")

    def test_memory(self):
        self.assertRegex(plain(self.nezha("rails", env={**os.environ, "OMPI_MCA_coll_nezha_single_node": "2"})),
                         "shared memory used among ranks of this node, by two copies through a segment; not by process_vm_readv: "
                         "(possible here, but took twice as long|process .* cannot be read by process_vm_readv).*; not by XPMEM: ")

    def test_a_nic_of_rails_of_two_kinds(self):
        """Where this machine has a NIC that is part of a PCIe device, libfabric's rail on it is part of the same one."""
        try:
            ctypes.CDLL("libfabric.so.1")
        except OSError as reason:
            self.skipTest(str(reason))
        (answer,) = json.loads(self.nezha("rails", "--json", status=None))["nodes"].values()
        rail = next((rail for rail in answer["rails"] if rail["pci"]), None)
        if rail is None:
            self.skipTest("no rail of this machine is part of a PCIe device")
        env = {**os.environ, "OMPI_MCA_coll_nezha_rail_include": f"tcp/{rail['device']},ofi/{rail['device']}"}
        (answer,) = json.loads(self.nezha("rails", "--json", env=env))["nodes"].values()
        self.assertEqual({found["name"].split("/")[0]: found["pci"] for found in answer["rails"]}, {"tcp": rail["pci"], "ofi": rail["pci"]})

    def test_nothing_to_use(self):
        env = {**os.environ, "OMPI_MCA_coll_nezha_rail_include": "eth99"}
        text = plain(self.nezha("rails", env=env, status=1))
        self.assertIn("'eth99' is named as a rail, and this node does not have it; there is ", text)
        self.assertIn("no rail: Open MPI's own allreduce carries everything", text)

    def test_a_list_of_open_mpis_own_that_cannot_be_read(self):
        env = {**os.environ, "OMPI_MCA_coll_nezha_single_node": "2", "OMPI_MCA_btl_tcp_if_include": "a/b/c"}
        self.assertIn("btl_tcp_if_include, taken for coll_nezha_rail_include: \"a/b/c\" has no IPv4",
                      plain(self.nezha("rails", env=env, status=1)))

    def test_control_characters(self):
        env = {**os.environ, "OMPI_MCA_coll_nezha_rail_include": "eth\x1b[31m\t9\x7f"}
        (answer,) = json.loads(self.nezha("rails", "--json", env=env, status=1))["nodes"].values()
        self.assertEqual([entry["value"] for entry in answer["trouble"]], ["eth?[31m 9?"])

    def test_leaves_the_trace_of_a_job_alone(self):
        with tempfile.NamedTemporaryFile("w+", suffix=".trace") as file:
            file.write("a job's\n")
            file.flush()
            self.nezha("rails", env={**os.environ, "OMPI_MCA_coll_nezha_single_node": "2", "OMPI_MCA_coll_nezha_trace": file.name})
            file.seek(0)
            self.assertEqual(file.read(), "a job's\n")

    def test_a_launcher_that_is_not_there(self):
        self.nezha("rails", "--launcher", "no-such-launcher", status=3)

    def test_a_launcher_that_fails(self):
        self.nezha("rails", "--launcher", "false", status=3)

    def test_a_launcher_that_does_not_end(self):
        """It is ended when all have answered, and not complained about."""
        with tempfile.TemporaryDirectory() as place:
            launcher = script(place, "launcher", 'OMPI_COMM_WORLD_SIZE=1 "$@"; exec sleep 600')
            with mock.patch.multiple(fleet, _ENOUGH=0.1), mock.patch.multiple(launch, COMMAND=COMMAND):
                answers = fleet.ask(argparse.Namespace(launcher=launcher), ["rails"], seconds=100)
        self.assertEqual((len(answers.by_node), answers.complaint), (1, ""))


class Shared(unittest.TestCase):
    def test_rails_of_one_pcie_device(self):
        found = [{"name": name, "pci": pci} for name, pci in (("tcp/a", "0000:3b:00"), ("tcp/b", ""), ("tcp/c", "0000:3b:00"), ("tcp/d", ""))]
        self.assertEqual([rails.use_text(rail, found) for rail in found],
                         ["used; shares PCIe device 0000:3b:00 with tcp/c", "used", "used; shares PCIe device 0000:3b:00 with tcp/a", "used"])


class InAJob(unittest.TestCase):
    """What launchers tell a process."""

    def told(self, **variables):
        with mock.patch.dict(os.environ, variables, clear=True):
            return job.is_first(), job.local_size(), job.size()

    def test_no_launcher(self):
        """The number of processes is not known."""
        self.assertEqual(self.told(), (True, 1, 0))

    def test_mpirun(self):
        self.assertEqual(self.told(OMPI_COMM_WORLD_LOCAL_RANK="1", OMPI_COMM_WORLD_LOCAL_SIZE="3", OMPI_COMM_WORLD_SIZE="7"),
                         (False, 3, 7))

    def test_srun(self):
        sizes = {"SLURM_STEP_TASKS_PER_NODE": "2(x2),4,1(x3)", "SLURM_STEP_NUM_TASKS": "11", "SLURM_LOCALID": "0"}
        self.assertEqual([self.told(SLURM_NODEID=str(node), **sizes) for node in range(6)],
                         [(True, size, 11) for size in (2, 2, 4, 1, 1, 1)])

    def test_mpirun_by_srun(self):
        """The daemon of mpirun's was a task of Slurm's, of which there was one a node."""
        self.assertEqual(self.told(SLURM_STEP_TASKS_PER_NODE="1(x2)", SLURM_STEP_NUM_TASKS="2", SLURM_LOCALID="0", SLURM_NODEID="1",
                                   OMPI_COMM_WORLD_LOCAL_RANK="2", OMPI_COMM_WORLD_LOCAL_SIZE="4", OMPI_COMM_WORLD_SIZE="8"),
                         (False, 4, 8))

    def test_an_allocation(self):
        """Its own shell is no task."""
        self.assertEqual(self.told(SLURM_NTASKS="8", SLURM_TASKS_PER_NODE="4(x2)", SLURM_NNODES="2"), (True, 1, 0))


class Lab(CommandCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab = make_lab(cls, nodes=len(NODES), rails=["none", "none"])

    def test_all_nodes(self):
        found = self.json_in(self.lab, "rails", *ALL)["nodes"]
        self.assertEqual(tuple(found), NODES)
        for number, node in enumerate(found.values()):
            self.assertEqual({rail["name"]: (rail["address"], rail["prefix"]) for rail in node["rails"]},
                             {"tcp/eth0": (f"10.10.0.{number + 1}", 24), "tcp/eth1": (f"10.11.0.{number + 1}", 24),
                              "tcp/mgmt": (f"10.9.0.{number + 1}", 24)})
            self.assertIn({"name": "lo", "reason": "loopback"}, node["left_out"])

    def test_hostfile(self):
        with tempfile.NamedTemporaryFile("w", suffix=".hosts") as file:
            file.write("".join(f"{node} slots=2\n" for node in NODES))
            file.flush()
            self.assertEqual(tuple(self.json_in(self.lab, "rails", "--hostfile", file.name)["nodes"]), NODES)

    def test_options_of_mpirun(self):
        """Two processes a node; one of them answers. Parameters count as they would in that job."""
        text = self.nezha_in(self.lab, "rails", "--", "-np", "4", "--host", "n0:2,n1:2", "--mca", "coll_nezha_rail_include",
                             "eth1")
        self.assertEqual([plain(line) for line in text.splitlines()[1:] if "shared memory" not in line],
                         ["n0 tcp/eth1 10.11.0.1/24 ? used", "n1 tcp/eth1 10.11.0.2/24 ? used"])

    def test_not_as_many_processes_on_each_node(self):
        """Two nodes of three processes are all that there are."""
        text = self.nezha_in(self.lab, "rails", "--", "-np", "3", "--host", "n0:2,n1:1")
        self.assertEqual(set(re.findall(r"(?m)^n\d", text)), {"n0", "n1"})

    def test_inherited_from_open_mpi(self):
        """What the job's own TCP was told counts where the rails were not named."""
        found = self.json_in(self.lab, "rails", *ALL, env={"OMPI_MCA_btl_tcp_if_include": "eth0"})["nodes"]
        self.assertEqual({rail["name"] for node in found.values() for rail in node["rails"]}, {"tcp/eth0"})

    def test_what_is_wrong_on_one_node(self):
        self.lab.cut(rail=1, node=2)
        self.addCleanup(self.lab.heal, rail=1, node=2)
        found = self.json_in(self.lab, "rails", *ALL, env={"OMPI_MCA_coll_nezha_rail_include": "eth1"}, status=1)["nodes"]
        self.assertEqual([len(node["rails"]) for node in found.values()], [1, 1, 0])
        self.assertEqual(found["n2"]["left_out"], [{"name": "eth1", "reason": "no carrier"}])

    def rails_of_libfabric(self, include, status):
        try:
            ctypes.CDLL("libfabric.so.1")
        except OSError as reason:
            self.skipTest(str(reason))
        found = self.json_in(self.lab, "rails", "--host", "n0", env={"OMPI_MCA_coll_nezha_rail_include": include}, status=status)["nodes"]["n0"]
        return [rail["name"] for rail in found["rails"]], found

    def test_rails_of_libfabric(self):
        """Alone, and beside one of TCP; those that are named in vain."""
        names, found = self.rails_of_libfabric("ofi/eth0", 0)
        self.assertEqual((names, found["unknown"]), (["ofi/tcp:eth0"], []))
        self.assertIn({"name": "eth0", "reason": "coll_nezha_rail_include does not name it"}, found["left_out"])
        names, found = self.rails_of_libfabric("tcp/eth0,ofi/eth1,ofi/eth9,shm/eth1", 1)
        self.assertEqual((names, found["unknown"]), (["tcp/eth0", "ofi/tcp:eth1"], ["ofi/eth9", "shm/eth1"]))
        names, found = self.rails_of_libfabric("tcp/eth0,ofi/eth9", 0)
        self.assertEqual((names, [entry["name"] for entry in found["left_out"] if "/" in entry["name"]]), (["tcp/eth0"], ["ofi/eth9"]))
        env = {"OMPI_MCA_coll_nezha_rail_include": "ofi/eth0"}
        self.assertRegex(plain(self.nezha_in(self.lab, "rails", "--host", "n0", env=env)), "n0 ofi/tcp:eth0 [?] used")
        self.assertIn("0 problems found", self.nezha_in(self.lab, "doctor", *ALL, env=env))

    def test_under_mpirun(self):
        """Each node tells of itself, once."""
        done = self.lab.mpirun([COMMAND, "rails"], np=4, ppn=2, component_dir=COMPONENT, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(re.findall(r"(?m)^(n\d) +tcp/(\w+)", done.stdout)),
                         [(node, rail) for node in ("n0", "n1") for rail in ("eth0", "eth1")])

    def test_bad_parameter(self):
        text = self.nezha_in(self.lab, "rails", "--host", "n1", env={"OMPI_MCA_coll_nezha_port_range": "9-1"}, status=1)
        self.assertIn('coll_nezha_port_range: "9-1" is no range of ports', text)

    def test_a_port_that_is_taken(self):
        """Not the rules but the opening of the rail says no."""
        program = "import socket; s = socket.create_server(('10.10.0.1', 45001)); print('up', flush=True); input()"
        taken = subprocess.Popen([*self.lab.nsenter(0), "python3", "-c", program], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(taken.communicate, "\n")
        self.assertEqual(taken.stdout.readline(), "up\n")
        found = self.json_in(self.lab, "rails", "--host", "n0", env={
            "OMPI_MCA_coll_nezha_port_range": "45001-45001", "OMPI_MCA_coll_nezha_rail_include": "eth0,eth1"})["nodes"]["n0"]
        self.assertEqual([rail["name"] for rail in found["rails"]], ["tcp/eth1"])
        self.assertRegex(found["left_out"][0]["reason"], "45001")


if __name__ == "__main__":
    unittest.main()
