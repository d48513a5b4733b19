# SPDX-License-Identifier: BSD-3-Clause
"""Keeps this machine's processors from going idle in earnest while something is measured.

A virtual machine's processor that halts is given to somebody else, and on a busy host it is not there when a packet or a
timer wants it: ranks that wait for one another then wait for the host. What latency measurements do about it (Linux,
Documentation/power/pm_qos_interface.rst) is to ask for wake-up latencies of nothing: idle processors then poll.
"""

import contextlib
import os

DEVICE = "/dev/cpu_dma_latency"


@contextlib.contextmanager
def processors(device=DEVICE):
    """While it lasts; True, or False where the machine does not let this user."""
    try:
        held = os.open(device, os.O_WRONLY)
    except OSError:
        yield False
        return
    try:
        os.write(held, (0).to_bytes(4, "little"))  # the request lasts as long as the file is open
        yield True
    finally:
        os.close(held)
