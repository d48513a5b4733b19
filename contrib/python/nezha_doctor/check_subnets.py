# SPDX-License-Identifier: BSD-3-Clause
"""Several IPv4 rails of a node in one subnet: each NIC must answer ARP for its own address only."""

import collections
import ipaddress

from nezha_command.ask import by_address

from .findings import PROBLEM, Finding, names


def check(cluster):
    found = cluster.several(_loose)
    for devices, nodes in found.items():
        lines = "; ".join(f"sysctl -w {_key(device, 'arp_ignore')}=1 {_key(device, 'arp_announce')}=2" for device in devices)
        yield Finding(PROBLEM, "subnets", nodes, f"{names(devices)} are in one subnet on {names(nodes)}, and any of them answers ARP for "
                      "all: packets then take one NIC, and lanes are refused", lines)


def _key(device, name):
    """As sysctl(8) has it: a dot of a device's name, as VLANs have, is a slash."""
    return f"net.ipv4.conf.{device.replace('.', '/')}.{name}"


def _loose(facts):
    """The devices that share a subnet and do not keep to their own address."""
    subnets = collections.defaultdict(list)
    for rail in by_address(facts["rails"]):
        if ":" not in rail["address"]:
            subnets[ipaddress.ip_interface(f"{rail['address']}/{rail['prefix']}").network].append(rail["device"])
    loose = [device for devices in subnets.values() if len(set(devices)) > 1 for device in devices
             if not _strict(facts, device)]
    return tuple(loose) or None


def _strict(facts, device):
    own = facts["interfaces"].get(device, {}).get("settings", {})

    def value(name):
        return max(int(own.get(f"net.ipv4.conf.{device}.{name}", 0)), int(facts["settings"].get(f"net.ipv4.conf.all.{name}", 0)))

    return value("arp_ignore") >= 1 and value("arp_announce") >= 2
