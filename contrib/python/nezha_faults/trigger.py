# SPDX-License-Identifier: BSD-3-Clause
"""Breaks rails at a moment of one's choosing: the lab's verbs start a process each, which takes some milliseconds."""

import subprocess
import time

from nezha_lab import network

_VERBS = {"cut": ("ip", "link set {} down"), "heal": ("ip", "link set {} up"),
          "silence": ("bridge", "link set dev {} state 0"), "speak": ("bridge", "link set dev {} state 3")}
_IN_NODES = {"down": "link set {} down", "up": "link set {} up"}  # of ip: what an administrator does there
UNDONE_BY = {"cut": "heal", "silence": "speak", "down": "up"}


class Trigger:
    """Holds ip and bridge ready in the switch. As a context manager."""

    def __init__(self, lab):
        self._lab = lab

    def __enter__(self):
        self._tools = {tool: self._ready(self._lab.nsenter(), tool) for tool in ("ip", "bridge")}
        self._tools.update({node: self._ready(self._lab.nsenter(node), "ip") for node in range(self._lab.spec.nodes)})
        return self

    @staticmethod
    def _ready(place, tool):
        return subprocess.Popen([*place, tool, "-batch", "-"], stdin=subprocess.PIPE, text=True)

    def __exit__(self, *_):
        for process in self._tools.values():
            process.stdin.close()
            process.wait()

    def pull(self, verb, rails, node=None):
        """Returns when it was done, a millisecond or two before its effect at the last of the ports."""
        nodes = self._lab.spec.node_list(node)
        if verb in _IN_NODES:
            for number in nodes:
                self._say(number, [_IN_NODES[verb].format(network.interface(rail)) for rail in rails])
        else:
            tool, line = _VERBS[verb]
            self._say(tool, [line.format(network.port(number, rail)) for rail in rails for number in nodes])
        return time.monotonic()

    def _say(self, tool, lines):
        self._tools[tool].stdin.write("".join(line + "\n" for line in lines))
        self._tools[tool].stdin.flush()

    def pull_inside(self, job, verb, rails, node=None):
        """In the middle of the job's next call."""
        job.await_middle()
        return self.pull(verb, rails, node)
