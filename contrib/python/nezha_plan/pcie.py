# SPDX-License-Identifier: BSD-3-Clause
"""What a PCIe device carries in one direction, by the equations of Tárraga-Moreno et al. (SAURON): a message is cut into packets
(TLP) of a largest payload, each with an overhead, and some of them are acknowledged by one link packet (DLLP)."""

# {generation: (transfers per lane and nanosecond, part of the bits that is data)}
GENERATIONS = {1: (2.5, 8 / 10), 2: (5, 8 / 10), 3: (8, 128 / 130), 4: (16, 128 / 130), 5: (32, 128 / 130), 6: (64, 242 / 256)}
LANES = (1, 2, 4, 8, 12, 16, 32)
PAYLOADS = (128, 256, 512, 1024, 2048, 4096)

_TLP_OVERHEAD = 20  # bytes of headers and framing
_DLLP = 8  # bytes
_ACK_FACTOR = 4  # packets that one DLLP acknowledges


def raw_rate(generation, lanes):
    """Bytes per second of the link, packets' overhead included."""
    transfers, data = GENERATIONS[generation]
    return lanes * transfers * 1e9 * data / 8


def packet_seconds(generation, lanes, payload):
    """Of one TLP."""
    return (_TLP_OVERHEAD + payload) / raw_rate(generation, lanes)


def payload_rate(generation, lanes, payload):
    """Bytes of messages per second."""
    packet = packet_seconds(generation, lanes, payload) + _DLLP / raw_rate(generation, lanes) / _ACK_FACTOR
    return payload / packet
