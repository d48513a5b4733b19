# SPDX-License-Identifier: BSD-3-Clause
"""What Open MPI says of itself on this node: ompi_info, which reads the same files and variables as a job's processes."""

import functools
import os
import re
import shutil
import subprocess

from nezha_lab import openmpi

from . import installed

_SHORT_PATH = "OMPI_MCA_mca_base_component_path"
_SECONDS = 60
_PARAMETER = re.compile(r"mca:(\w+):(\w+):param:(\w+):(value|source):(.*)")


def environment():
    """With the place of the component that belongs to this command added, unless the user names places himself, or has it found."""
    return {**_own_environment(), **(openmpi.component_path(installed.COMPONENT) if adds_place() else {})}


def adds_place():
    """Whether environment() names the component's place, which the user's own jobs are not told of. A file may tell them: mpirun of
    Open MPI 5.0 hands that on in the environment, where it would look like ours."""
    named = openmpi.COMPONENT_PATH in os.environ or _SHORT_PATH in os.environ
    return not named and not _looked_at(installed.COMPONENT) and not _listed(_own_environment())


def _own_environment(added=False):
    """That of the user's own jobs. `added`: the place of the component in it comes from environment() of the node that asks."""
    env = dict(os.environ)
    if added:
        ours = openmpi.component_path(installed.COMPONENT).items()
        env = {name: value for name, value in env.items() if (name, value) not in ours}
    if os.geteuid() == 0:
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return env


def _looked_at(directory):
    """Whether Open MPI looks there by itself."""
    places = [os.path.expanduser("~/.openmpi/components"), paths().get("pkglibdir", "")]
    return os.path.realpath(directory) in [os.path.realpath(place) for place in places if place]


def _info(*arguments, env=None):
    program = shutil.which("ompi_info")
    if program is None:
        return ""
    try:
        return subprocess.run([program, *arguments], capture_output=True, text=True, errors="replace", env=env,
                              timeout=_SECONDS, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


@functools.cache
def paths():
    """{'prefix': DIRECTORY, 'pkglibdir': ...}; empty without ompi_info."""
    lines = (line.split(":", 2) for line in _info("--path", "all", "--parsable").splitlines())
    return {words[1]: words[2] for words in lines if len(words) == 3 and words[0] == "path"}


def version():
    """'4.1.4', or '' without ompi_info."""
    found = re.search(r"^Open MPI v(\d[\w.]*)", _info("--version"), re.MULTILINE)
    return found[1] if found else ""


def _parameters(framework, component):
    """{name: (value, source)} of a component, as they are in force here."""
    found = {}
    text = _info("--parsable", "--level", "9", "--param", framework, component, env=environment())
    for line in text.splitlines():
        match = _PARAMETER.fullmatch(line)
        if match:
            _, _, name, member, value = match.groups()
            found.setdefault(name, {})[member] = value.strip('"')
    return {name: (members.get("value", ""), members.get("source", "default")) for name, members in found.items()}


def component(added):
    """Whether Open MPI lists the component in the user's own jobs, and, where only this command has it looked for there, its
    place. `added`: as for _own_environment()."""
    found = _listed(_own_environment(added))
    return {"component_found": found, "component_elsewhere": installed.COMPONENT if not found and _listed(environment()) else ""}


def _listed(env):
    return _listed_in(tuple(sorted(env.items())))


@functools.cache
def _listed_in(variables):
    """Asked by everything that makes an environment."""
    return "mca:coll:nezha:" in _info("--parsable", "--param", "coll", "nezha", env=dict(variables))


def rail_parameters():
    """{name: value} for nezha_ask: every parameter of the component that is not at its default, and what Open MPI's own TCP
    was told about interfaces. Where Open MPI does not find the component, what the environment says."""
    prefix = "coll_nezha_"
    ours = {name[len(prefix):]: value for name, (value, source) in _parameters("coll", "nezha").items()
            if name.startswith(prefix) and not source.startswith("default")}
    if not ours:
        ours = {name[len("OMPI_MCA_" + prefix):]: value for name, value in os.environ.items()
                if name.startswith("OMPI_MCA_" + prefix)}
    theirs = {name: value for name, (value, source) in _parameters("btl", "tcp").items()
              if name in ("btl_tcp_if_include", "btl_tcp_if_exclude") and not source.startswith("default")}
    return {**ours, **theirs}
