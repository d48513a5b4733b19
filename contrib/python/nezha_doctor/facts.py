# SPDX-License-Identifier: BSD-3-Clause
"""What the doctor wants to know of a node, gathered on that node: plain data, no judgement."""

import fcntl
import os
import platform
import socket
import struct

from nezha_command import ask, installed, job, ompi

# Each is asked for by name; what this kernel does not have is left out.
_SETTINGS = ("net.core.rmem_max", "net.core.wmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
             "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_window_scaling",
             "net.ipv4.tcp_sack", "net.ipv4.conf.all.arp_ignore", "net.ipv4.conf.all.arp_announce")
_OF_INTERFACE = ("net.ipv4.conf.{}.rp_filter", "net.ipv4.conf.{}.arp_ignore", "net.ipv4.conf.{}.arp_announce")

_SIOCGIFMTU, _SIOCGIFHWADDR = 0x8921, 0x8927
_COMPLETE = 2  # ATF_COM: the neighbour has answered, or was set by hand
NOBODY = "00:00:00:00:00:00"
PLACE_ADDED = "place-added"  # a word of gather()
_MOST_PROCESSORS = 8192  # of Linux: in a container their numbers may be larger than there are


def gather(place=""):
    """`place`: PLACE_ADDED where the asking node has named the component's place in this process's environment."""
    parameters = ompi.rail_parameters()
    found = ask.rails(parameters)
    names = [rail["device"] for rail in ask.by_address(found["rails"])]
    return {"nezha": installed.VERSION, "parameters": parameters, **found,
            "ompi": {"version": ompi.version(), "built_for": installed.OMPI_VERSION, **ompi.component(place == PLACE_ADDED)},
            "memory": ask.memory(),
            "machine": {"kernel": platform.release(), "all_cores": os.cpu_count(), "cores": cores(), "load": os.getloadavg()[0],
                        "ranks": job.local_size()},
            "settings": {name: value for name in _SETTINGS if (value := setting(name)) is not None},
            "interfaces": {name: interface(name) for name in names}}


def cores():
    """How many this node's job may use. What a launcher has bound this process to, a core of each, is no limit of the job's; what the
    kernel keeps it to, as a container, is."""
    bound = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, range(_MOST_PROCESSORS))
    except OSError:
        return len(bound)
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, bound)
    return len(allowed)


def setting(name):
    return _read("/proc/sys/" + name.replace(".", "/"))


def _read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return " ".join(file.read().split())
    except OSError:
        return None


def interface(name):
    """MTU, hardware address, NUMA node of its device (None for software), duplex as the driver has it, its own settings."""
    base = f"/sys/class/net/{name}"
    numa = _read(f"{base}/device/numa_node")
    return {"mtu": mtu(name), "mac": mac(name), "numa": int(numa) if numa not in (None, "-1") else None, "duplex": _read(f"{base}/duplex"),
            "settings": {entry.replace("{}", name): value for entry in _OF_INTERFACE
                         if (value := _read("/proc/sys/" + entry.replace(".", "/").format(name))) is not None}}


def mtu(name):
    answer = _ask_kernel(_SIOCGIFMTU, name)
    return answer and struct.unpack("16si", answer[:20])[1]


def mac(name):
    answer = _ask_kernel(_SIOCGIFHWADDR, name)
    return answer and answer[18:24].hex(":")


def _ask_kernel(request, name):
    """By ioctl: /sys may show another network namespace's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            return fcntl.ioctl(any_socket, request, struct.pack("16s24x", name.encode()[:15]))
        except OSError:
            return None


def neighbours():
    """{address: hardware address} of IPv4, all zeros for who does not answer."""
    lines = (_read_lines("/proc/net/arp"))[1:]
    return {words[0]: words[3] if int(words[2], 16) & _COMPLETE else NOBODY for words in map(str.split, lines) if len(words) > 3}


def _read_lines(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.readlines()
    except OSError:
        return []
