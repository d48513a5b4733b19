# SPDX-License-Identifier: BSD-3-Clause
"""The commands that make the network, as lines for ip -batch, tc -batch and the like.

Each rail is a bridge in the switch namespace and a veth per node: ethR in the node, nNeR in the switch. The
management network is the same, unshaped: mgmt in the node, nNm in the switch. All of it is named alike in
every lab, for no lab's namespaces can be seen from another's. On a rail with a hub the bridge isolates the ports of all other
nodes: it passes nothing from one of them to another.
"""

from .rdma import MTU
from .spec import mgmt_address

# A smaller burst makes the kernel split and drop the 64 KiB packets of segmentation offload: every figure is wrong.
BURST_BYTES = 128 * 1024
_SHAPE = "burst 128kb latency 20ms"
# RDMA takes networks for lossless: with each packet that a queue drops a device begins again where it was lost. The queue holds
# what all pairs of a rail may have under way.
_LOSSLESS = "burst 128kb limit 4mb"


def port(node, rail):
    """The switch's end of a node's rail; rail is 'mgmt' for the management network."""
    return f"n{node}m" if rail == "mgmt" else f"n{node}e{rail}"


def interface(rail):
    """The node's end."""
    return "mgmt" if rail == "mgmt" else f"eth{rail}"


def bridge(spec, rail):
    if rail == "mgmt":
        return "mgmt"
    return "rail0" if spec.one_subnet else f"rail{rail}"


def rails(spec):
    """Everything a node is plugged into."""
    return [*range(spec.rails), "mgmt"]


def bridge_lines(spec):
    names = dict.fromkeys(bridge(spec, rail) for rail in rails(spec))
    return [line for name in names for line in (
        f"link add {name} type bridge stp_state 0 forward_delay 0 mcast_snooping 0",
        f"link set {name} up")]


def mac(node, rail):
    """A NIC that comes back is the same one: with another MAC its neighbours would not find it for many seconds."""
    return f"02:00:{255 if rail == 'mgmt' else rail:02x}:00:{node >> 8:02x}:{node & 255:02x}"


def plug_lines(spec, node, rail, node_pid):
    """For ip in the switch: a veth between the switch and the node that process node_pid is in."""
    name = port(node, rail)
    mtu = f" mtu {MTU}" if spec.rdma and rail != "mgmt" else ""
    isolated = [f"link set {name} type bridge_slave isolated on"] if spec.isolated(node, rail) else []
    return [f"link add {name}{mtu} type veth peer name {interface(rail)} address {mac(node, rail)} netns {node_pid}{mtu}",
            f"link set {name} master {bridge(spec, rail)} up", *isolated]


def address_lines(spec, node, rail):
    """For ip in the node. No duplicate detection: an IPv6 address must be usable at once."""
    name = interface(rail)
    if rail == "mgmt":
        lines = [f"addr add {mgmt_address(node)}/24 dev {name}"]
    else:
        lines = ["addr add {}/{} dev {}".format(*spec.address(node, rail), name)]
        if spec.ipv6:
            lines.append("addr add {}/{} dev {} nodad".format(*spec.address6(node, rail), name))
    return [*lines, f"link set {name} up"]


def shape_line(device, rate, lossless=False):
    """For tc, at either end of a veth; replaces what was there, while traffic runs."""
    if rate == "none":
        return f"qdisc replace dev {device} root noqueue"
    return f"qdisc replace dev {device} root tbf rate {rate} {_LOSSLESS if lossless else _SHAPE}"
