# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of nezha_rdma_bench on two nodes of a lab."""

import os

from nezha_bench.errors import BenchError
from nezha_bench.excerpt import excerpt
from nezha_bench.output import read_json_line

_SECONDS = 300  # the longest job; emulated processors are slow


class Jobs:
    def __init__(self, lab, build, mca=()):
        self.lab, self._mca = lab, list(mca)
        self.component_dir = os.path.join(build, "component")
        self.calls = _program(build, "nezha_fault_bench")
        self._bench = _program(build, "nezha_rdma_bench")
        self.log = ""

    def options(self, rails, **more):
        """mpirun's: no size is learned, so that all jobs do the same."""
        given = {"coll_nezha_rail_include": rails, "coll_nezha_learn": "0", "coll_nezha_algorithm": "ring", "coll_nezha_verbose": "2", **more}
        pairs = [*given.items(), *self._mca]
        return [word for key, value in pairs for word in ("--mca", key, str(value))]

    def bench(self, rails, sizes, calls, rounds, warmup=2, device=None, **more):
        """The rows that it printed. Nezha must have carried each call."""
        words = ["-s", ",".join(map(str, sizes)), "-i", calls, "-x", warmup, "--rounds", rounds]
        if device:
            words += ["--device", device]
        done = self.lab.mpirun([*self.options(rails, **more), self._bench, *map(str, words)], np=2, incumbent_rails="mgmt",
                               component_dir=self.component_dir, timeout=_SECONDS)
        self.log += done.stderr
        rows = [{"kind": found[0], **found[1]} for found in map(read_json_line, done.stdout.splitlines()) if found]
        if done.returncode != 0 or not rows:
            raise BenchError(f"a job over {rails} ended with status {done.returncode}\n{excerpt(done.stderr)}")
        if any(row["carried"] != row["calls"] for row in rows if row["kind"] == "allreduce"):
            raise BenchError(f"Nezha did not carry all calls over {rails}\n{excerpt(done.stderr)}")
        return rows


def _program(build, name):
    path = os.path.join(build, "contrib", "programs", name)
    if not os.access(path, os.X_OK):
        raise BenchError(f"there is no program {path}: build first (contrib/build; it needs libibverbs-dev)")
    return path
