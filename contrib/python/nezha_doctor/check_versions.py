# SPDX-License-Identifier: BSD-3-Clause
"""One Nezha on all nodes, each made for the Open MPI that is there."""

from .findings import PROBLEM, Finding, names, odd_ones


def check(cluster):
    builds = cluster.several(lambda facts: facts["nezha"])
    for version, nodes in odd_ones(builds):
        yield Finding(PROBLEM, "versions", nodes, f"Nezha {version} is installed on {names(nodes)}, {next(iter(builds))} elsewhere",
                      "install the same version on all nodes")
    wrong = cluster.several(lambda facts: _mismatch(facts["ompi"]))
    for (found, wanted), nodes in wrong.items():
        yield Finding(PROBLEM, "versions", nodes, f"Nezha was built for Open MPI {wanted}, and {names(nodes)} has {found}",
                      f"build Nezha against Open MPI {found}, or put the Open MPI {wanted} first in PATH; until then Open MPI's "
                      "own allreduce is used")


def _mismatch(ompi):
    return (ompi["version"] or "none in PATH", ompi["built_for"]) if ompi["version"] != ompi["built_for"] else None
