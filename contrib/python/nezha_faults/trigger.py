# SPDX-License-Identifier: BSD-3-Clause
"""Breaks rails at a moment of one's choosing: the lab's verbs start a process each, which takes some milliseconds."""

import subprocess
import time

from nezha_lab import network

_VERBS = {"cut": ("ip", "link set {} down"), "heal": ("ip", "link set {} up"),
          "silence": ("bridge", "link set dev {} state 0"), "speak": ("bridge", "link set dev {} state 3")}
UNDONE_BY = {"cut": "heal", "silence": "speak"}


class Trigger:
    """Holds ip and bridge ready in the switch. As a context manager."""

    def __init__(self, lab):
        self._lab = lab

    def __enter__(self):
        self._tools = {tool: subprocess.Popen([*self._lab.nsenter(), tool, "-batch", "-"], stdin=subprocess.PIPE, text=True)
                       for tool in ("ip", "bridge")}
        return self

    def __exit__(self, *_):
        for process in self._tools.values():
            process.stdin.close()
            process.wait()

    def pull(self, verb, rails, node=None):
        """Returns when it was done, a millisecond or two before its effect at the last of the ports."""
        tool, line = _VERBS[verb]
        ports = [network.port(number, rail) for rail in rails for number in self._lab.spec.node_list(node)]
        self._tools[tool].stdin.write("".join(line.format(port) + "\n" for port in ports))
        self._tools[tool].stdin.flush()
        return time.monotonic()

    def pull_inside(self, job, verb, rails):
        """In the middle of the job's next call."""
        job.await_middle()
        return self.pull(verb, rails)
