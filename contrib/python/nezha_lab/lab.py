# SPDX-License-Identifier: BSD-3-Clause
"""The lab as Python sees it: bring up, run things in the nodes, look, take down.

    with Lab(nodes=4, rails=["1gbit", "500mbit"]) as lab:
        lab.mpirun(["./program"], np=4)
        lab.cut(rail=1, node=2)

Nodes are named by number or n0, n1...; rails by number or eth0, eth1...; an object belongs to one thread.
"""

import collections
import dataclasses
import itertools
import json
import os
import secrets
import signal
import subprocess
import sys
import time

from . import apart, limit, network, processes, rdma, state
from .congestion import allowed_list
from .errors import LabError, LabUnavailable
from .faults import Faults
from .mpi import Mpi, hosts
from .spec import LabSpec, check_name
from .tools import LAB_TOOLS, require, run

NicBytes = collections.namedtuple("NicBytes", "sent received")

_DOWN_SECONDS = 15.0
_PACKAGE_PARENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_REFUSAL = ("the lab needs namespaces, and this kernel does not let {who} make them ({words}): {advice}")
_ADVICE = {
    True: "run as root, or have root allow it (sysctl user.max_user_namespaces above 0, "
          "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)",
    False: "give this container CAP_SYS_ADMIN and CAP_NET_ADMIN (docker run --privileged)",
}


class Lab(Faults, Mpi):
    """As a context manager the lab is ephemeral: it goes when the block ends, and when this process dies, however."""

    def __init__(self, nodes=4, rails=("1gbit", "1gbit"), name=None, node_rates=(), ipv6=False, one_subnet=False,
                 with_rdma=False, hubs=()):
        self.spec = LabSpec.make(nodes, list(rails), node_rates, ipv6, one_subnet, with_rdma, hubs)
        self.name = check_name(name) if name is not None else "lab-" + secrets.token_hex(3)
        self.record = None
        self._keeper = None
        self._jobs = itertools.count()

    @classmethod
    def attach(cls, name):
        """A lab that another process brought up."""
        record = state.load(check_name(name))
        if record is None:
            raise LabError(f"there is no lab named {name} (lab list shows what there is)")
        if not state.alive(record):
            raise LabError(f"the keeper of lab {name} was killed: lab down {name} takes away the rest")
        if not record["ready"]:
            raise LabError(f"lab {name} is still coming up or going down")
        lab = cls.__new__(cls)
        lab.name, lab.record, lab._keeper, lab._jobs = name, record, None, itertools.count()
        lab.spec = LabSpec(**record["spec"])
        return lab

    def __enter__(self):
        self.up(ephemeral=True)
        return self

    def __exit__(self, *_):
        self.down()

    def up(self, ephemeral=False):
        """Takes well under a second for four nodes. One that is not ephemeral outlives this process."""
        require(*LAB_TOOLS)
        if self.spec.rdma:
            rdma.check()
        rootless = os.geteuid() != 0
        with allowed_list() as descriptor:
            self._start_keeper(rootless, ephemeral, descriptor)
        self.record = state.load(self.name)
        return self

    def _start_keeper(self, rootless, ephemeral, allowed):
        path = os.pathsep.join(filter(None, [_PACKAGE_PARENT, os.environ.get("PYTHONPATH")]))
        keeper = subprocess.Popen(
            [*apart.words(rootless), sys.executable, "-m", "nezha_lab.keeper"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
            env={**os.environ, "PYTHONPATH": path, state.DIRECTORY_VARIABLE: state.directory()},
            start_new_session=True, pass_fds=[] if allowed is None else [allowed])
        config = {"name": self.name, "id": secrets.token_hex(16), "spec": dataclasses.asdict(self.spec),
                  "rootless": rootless, "ephemeral": ephemeral, "allowed": allowed}
        try:
            answer = _ask(keeper, config)
        except BaseException:  # Ctrl-C; nobody but us knows of the keeper
            keeper.terminate()
            keeper.communicate()
            raise
        if "ready" not in answer:
            errors = keeper.communicate()[1]
            raise _why_not(answer, errors, rootless)
        keeper.stdout.close()
        keeper.stderr.close()
        if ephemeral:
            self._keeper = keeper
        else:
            keeper.stdin.close()

    def down(self):
        """Ends every process in the nodes, and the network with them. Does nothing when the lab is down already."""
        record, self.record = self.record, None
        if record is not None:
            take_down(record)
        if self._keeper is not None:
            self._keeper.stdin.close()
            self._keeper.wait()
            self._keeper = None

    def refresh(self):
        """The rates may have been changed by another process."""
        self.spec = LabSpec(**(state.load(self.name) or self.record)["spec"])

    def nsenter(self, node=None, cwd=None):
        """What to put before a command so that it runs in a node, or, for None, in the switch.

        With --root, since entering a mount namespace alone would leave a chroot that the lab was started in.
        """
        if self.record is None:
            raise LabError(f"lab {self.name} is not up")
        pid = self.record["keeper"] if node is None else self.record["holders"][self.spec.node(node)]
        user = ["--user", "--preserve-credentials"] if self.record["rootless"] else []
        spaces = ["--net", "--mount", "--root"] + (["--uts", "--ipc"] if node is not None else [])
        return ["nsenter", "--target", str(pid), *user, *spaces, f"--wdns={cwd or os.getcwd()}", "--"]

    def new_mark(self):
        """Goes into the environment of everything that one command or job starts."""
        return f"{self.record['id']}/{os.getpid()}-{next(self._jobs)}"

    def exec(self, node, command, cwd=None, env=None, **options):
        """subprocess.run in a node; options are passed on to it."""
        argv = [*self.nsenter(node, cwd), *command]
        return subprocess.run(argv, env={**os.environ, processes.MARK: self.new_mark(), **(env or {})}, **options)

    def pids(self, node=None, program=None):
        """The processes of a node, or of all, as (pid, node, program): for tests that kill or stop one."""
        nodes = {self.record["inodes"][n]: n for n in self.spec.node_list(node)}
        found = processes.in_namespaces(nodes, but=self.record["holders"])
        rows = [processes.LabProcess(pid, nodes[inode], processes.program(pid)) for pid, inode in sorted(found.items())]
        return [row for row in rows if program in (None, row.program)]

    def nic_bytes(self, node, rail):
        """(sent, received) by a node's NIC since it was plugged in, headers included; rail may be 'mgmt'."""
        rail = rail if rail == "mgmt" else self.spec.rail(rail)
        port = network.port(self.spec.node(node), rail)
        base = f"/proc/{self.record['keeper']}/root/sys/class/net/{port}/statistics/"
        try:
            return NicBytes(_number(base + "rx_bytes"), _number(base + "tx_bytes"))
        except FileNotFoundError:
            raise LabError(f"rail {rail} of node n{node} is unplugged: it has no counters") from None

    def status(self):
        """Per node and rail: node, rail, address, rate, state as the kernel has it (up, cut, silent, unplugged)."""
        self.refresh()
        links = {link["ifname"]: link for link in json.loads(run([*self.nsenter(), "ip", "-j", "-d", "link"]))}
        return [(f"n{node}", f"eth{rail}", self.spec.address(node, rail)[0], self.spec.rates[node][rail],
                 _port_state(links.get(network.port(node, rail))))
                for node in range(self.spec.nodes) for rail in range(self.spec.rails)]

    def limit_seconds(self, message_bytes, np=None, rails=None, aggregators=(), traffic=None, rhythm=limit.ONCE):
        """The computed limit of an allreduce (limit.py) by np ranks over all rails that they share, or those given; with aggregators,
        each (its node, links as limit.aggregated_seconds has them); or of what moves so many times the vector; as one of calls in
        that rhythm."""
        self.refresh()
        count = sum(1 for slots in hosts(self.spec.nodes, np, None) if slots)
        chosen = self.spec.shared_rails() if rails is None else [self.spec.rail(rail) for rail in rails]
        rates = self._rates(range(count), chosen)
        if traffic is not None:
            return limit.moved_seconds(message_bytes * traffic, rates, rhythm)
        if not aggregators:
            return limit.allreduce_seconds(message_bytes, rates, rhythm)
        own = [rail for rail, hub in enumerate(self.spec.hubs) if hub is not None]
        places = [self.spec.node(node) for node, _ in aggregators]
        centers = list(zip(self._rates(places, own or chosen), [links for _, links in aggregators]))
        return limit.aggregated_seconds(message_bytes, rates, centers, rhythm, self._rates(range(count), own))

    def _rates(self, nodes, rails):
        return [[self.spec.rates[node][rail] for rail in rails] for node in nodes]


def take_down(record):
    """By its state record, so that it works from any process, and for a lab whose keeper was killed too."""
    deadline = time.monotonic() + _DOWN_SECONDS
    if state.alive(record):
        processes.send(record["keeper"], signal.SIGTERM)
    while state.alive(record):
        if time.monotonic() > deadline:
            processes.send(record["keeper"], signal.SIGKILL)
        time.sleep(0.005)
    processes.kill_until_none(lambda: processes.marked(record["id"]))
    state.forget(record["name"])


def _ask(keeper, config):
    """The keeper's one answer; empty when it died before it had one."""
    try:
        keeper.stdin.write(json.dumps(config) + "\n")
        keeper.stdin.flush()
    except BrokenPipeError:
        return {}
    line = keeper.stdout.readline()
    return json.loads(line) if line else {}


def _why_not(answer, errors, rootless):
    words = answer.get("error") or " ".join(errors.split()[-40:]) or "no reason given"
    refused = "unshare" in words or "ermission denied" in words or "not permitted" in words
    if not refused:
        return LabError(words)
    who = "an ordinary user" if rootless else "this root"
    return LabUnavailable(_REFUSAL.format(who=who, words=words, advice=_ADVICE[rootless]))


def _port_state(link):
    if link is None:
        return "unplugged"
    if "UP" not in link["flags"]:
        return "cut"
    return "up" if link["linkinfo"]["info_slave_data"]["state"] == "forwarding" else "silent"


def _number(path):
    with open(path, encoding="ascii") as file:
        return int(file.read())
