# SPDX-License-Identifier: BSD-3-Clause
"""The keeper of one lab: a process in namespaces of its own, which are the lab's switch.

It makes the nodes and the network, waits, and at its end takes everything down again: on SIGTERM, and for an
ephemeral lab also when the pipe from its owner closes, which happens however the owner dies. Nothing of a lab can be
seen outside the keeper's namespaces but its state file, so nothing else can be left behind. Each node's namespaces are
held by a sleeping process that dies with the keeper.

Started by lab.py in the namespaces that apart.py makes, as python3 -m nezha_lab.keeper.
One line of JSON comes in, one goes out.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys

from . import network, processes, rdma, state
from .congestion import cubic_allowed
from .errors import LabError
from .spec import LabSpec
from .tools import batch, run

_NODE = r"""
hostname "$1"
[ -d /dev/shm ] || mkdir /dev/shm
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs /dev/shm
mount -t sysfs sysfs /sys 2>/dev/null || mount -t sysfs -o ro sysfs /sys
[ -e /etc/hosts ] || : > /etc/hosts
mount --bind "$2" /etc/hosts
ip link set lo up
for which in cubic reno; do
  { echo $which > /proc/sys/net/ipv4/tcp_congestion_control; } 2>/dev/null && break
done
echo 2 > /proc/sys/net/ipv4/conf/all/rp_filter
for which in all default; do
  file=/proc/sys/net/ipv6/conf/$which/disable_ipv6
  [ ! -e $file ] || echo "$3" > $file
done
if [ "$4" = 1 ]; then  # several NICs in one subnet: each answers for its own address only
  echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore
  echo 2 > /proc/sys/net/ipv4/conf/all/arp_announce
fi
cat /proc/sys/net/ipv4/tcp_congestion_control
exec sleep infinity > /dev/null 2>&1
"""

_AGENT = """#!/bin/sh
# agent HOST COMMAND...: what ssh is on a real cluster
host=$1
shift
case $host in
{cases}
*) echo "lab: there is no node named $host" >&2; exit 255 ;;
esac
# --root: entering a mount namespace alone would leave a chroot that the lab was started in.
exec nsenter --target $pid --net --mount --root --uts --ipc --wdns=/ -- sh -c "$*"
"""

_PR_SET_PDEATHSIG = 1


class Keeper:
    def __init__(self, config):
        self.name = config["name"]
        self.spec = LabSpec(**config["spec"])
        self.allowed = config["allowed"]
        self.record = {"name": self.name, "id": config["id"], "keeper": os.getpid(),
                       "started": processes.start_time(os.getpid()), "rootless": config["rootless"],
                       "ready": False, "spec": config["spec"]}
        self.place = self.record["place"] = state.mount_point(self.name)
        self.holders = []
        self.owns_name = False

    def build(self):
        self._take_name()
        run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self.place])
        self._mount_sysfs()
        with contextlib.suppress(OSError):
            _write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")
        for tables in ("iptables", "ip6tables", "arptables"):  # a switch has no firewall; its hooks cost 3 % of the processor
            with contextlib.suppress(OSError):
                _write(f"/proc/sys/net/bridge/bridge-nf-call-{tables}", "0")
        with cubic_allowed(self.allowed):
            self._make_nodes()
        self._make_network()
        self.record["ready"] = True
        state.save(self.record)

    def _take_name(self):
        with state.lock():
            other = state.load(self.name)
            if other is not None:
                words = "exists" if state.alive(other) else "was left by a keeper that was killed: take it down first"
                raise LabError(f"lab {self.name} {words}")
            os.makedirs(self.place, exist_ok=True)
            self.owns_name = True
            state.save(self.record)

    def _mount_sysfs(self):
        """So that /proc/KEEPER/root/sys shows the switch's ports, whose counters anybody may read."""
        try:
            run(["mount", "-t", "sysfs", "sysfs", "/sys"])
        except LabError:
            run(["mount", "-t", "sysfs", "-o", "ro", "sysfs", "/sys"])

    def _make_nodes(self):
        hosts = os.path.join(self.place, "hosts")
        _write(hosts, self.spec.hosts())
        self.holders = [subprocess.Popen(
            ["unshare", "--net", "--mount", "--uts", "--ipc", "sh", "-ec", _NODE, "sh",
             f"n{node}", hosts, "0" if self.spec.ipv6 else "1", "1" if self.spec.one_subnet else "0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=_die_with_parent) for node in range(self.spec.nodes)]
        for node, holder in enumerate(self.holders):
            algorithm = holder.stdout.readline().strip()
            if not algorithm:
                raise LabError(f"node n{node} did not come up: {' '.join(holder.stderr.read().split())}")
            self.record["congestion"] = algorithm
        self.record["holders"] = [holder.pid for holder in self.holders]
        self.record["inodes"] = [processes.net_inode(holder.pid) for holder in self.holders]
        cases = "\n".join(f"n{node}) pid={holder.pid} ;;" for node, holder in enumerate(self.holders))
        agent = os.path.join(self.place, "agent")
        _write(agent, _AGENT.format(cases=cases))
        os.chmod(agent, 0o755)

    def _make_network(self):
        spec, plugs = self.spec, network.rails(self.spec)
        batch([], "ip", network.bridge_lines(spec) + [
            line for node, holder in enumerate(self.holders) for rail in plugs
            for line in network.plug_lines(spec, node, rail, holder.pid)])
        shaped = [(node, rail) for node in range(spec.nodes) for rail in range(spec.rails)
                  if spec.rates[node][rail] != "none"]
        batch([], "tc", [network.shape_line(network.port(node, rail), spec.rates[node][rail], spec.rdma) for node, rail in shaped])
        for node, holder in enumerate(self.holders):
            enter = ["nsenter", "--target", str(holder.pid), "--net", "--"]
            batch(enter, "ip", [line for rail in plugs for line in network.address_lines(spec, node, rail)])
            batch(enter, "tc", [network.shape_line(network.interface(rail), spec.rates[node][rail], spec.rdma)
                                for owner, rail in shaped if owner == node])
        if spec.rdma:
            for node, holder in enumerate(self.holders):
                rdma.add(node, range(spec.rails), holder.pid)

    def destroy(self):
        inodes = {processes.net_inode(pid) for pid in [os.getpid(), *(holder.pid for holder in self.holders)]} - {None}
        for holder in self.holders:
            holder.kill()
            holder.wait()
        processes.kill_until_none(lambda: processes.in_namespaces(inodes, but=(os.getpid(),)))
        if self.owns_name:
            subprocess.run(["umount", "--lazy", self.place], check=False, stderr=subprocess.DEVNULL)
            state.forget(self.name)


def _die_with_parent():
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _tell(answer):
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps(answer), flush=True)


def _stop(*_):
    raise SystemExit


def main():
    config = json.loads(sys.stdin.readline())
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for number in numbers:
        signal.signal(number, _stop)
    keeper = Keeper(config)
    try:
        keeper.build()
        _tell({"ready": True})
        if config["ephemeral"]:
            sys.stdin.read()
        else:
            while True:
                signal.pause()
    except LabError as error:
        _tell({"error": str(error)})
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        keeper.destroy()


if __name__ == "__main__":
    main()
