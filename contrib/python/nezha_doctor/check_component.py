# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI finds the component, and is not told to leave it out."""

from .findings import PROBLEM, Finding, names

_OFF = ("0", "false", "no", "off")


def check(cluster):
    for place, nodes in cluster.several(lambda facts: facts["ompi"]["component_elsewhere"] or None).items():
        yield Finding(PROBLEM, "component", nodes, f"jobs on {names(nodes)} do not find coll/nezha: it is in {place}, where Open MPI does "
                      "not look unless it is told to",
                      f"--mca opal_mca_base_component_path {place}:SYS_DEFAULT:USER_DEFAULT, or that parameter in "
                      "~/.openmpi/mca-params.conf; or install it where Open MPI looks (configure --with-componentdir=system or =user)")
    lacking = [node for node, facts in cluster.facts.items()
               if not facts["ompi"]["component_found"] and not facts["ompi"]["component_elsewhere"]]
    if lacking:
        yield Finding(PROBLEM, "component", lacking, f"Open MPI does not list coll/nezha on {names(lacking)}: mca_coll_nezha.so is not "
                      "where it looks, does not load, or --mca coll (OMPI_MCA_coll) leaves it out",
                      "install it there (configure --with-componentdir=system or =user), or set opal_mca_base_component_path "
                      "to DIR:SYS_DEFAULT:USER_DEFAULT; ompi_info | grep nezha tells")
    off = [node for node, facts in cluster.facts.items() if facts["parameters"].get("enable", "1") in _OFF]
    if off:
        yield Finding(PROBLEM, "component", off, f"coll_nezha_enable is 0 on {names(off)}", "take that setting away")
