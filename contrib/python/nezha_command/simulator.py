# SPDX-License-Identifier: BSD-3-Clause
"""The programs nezha_simulate and nezha_traffic, beside which the command was installed."""

import contextlib
import os
import subprocess
import tempfile

from . import installed
from .errors import USAGE, CommandError, UsageError

_PARTS = ("source accelerator", "source network", "source NIC", "between nodes", "far NIC", "far network", "far accelerator")
_NUMBERS = ("inter_percent", "load_percent", "gbps", "intra_gbps", "inter_gbps", "intra_messages", "inter_messages",
            "intra_latency_us", "longest_us")


def run(settings, inter, loads, jobs, progress):
    """What each simulation has measured: for each percentage of `inter` those of `loads`, in this order."""
    words = [f"jobs={jobs}", f"inter={','.join(map(str, inter))}", f"loads={loads}"]
    facts = _facts(["run", *words, *(f"{name}={value}" for name, value in settings.items())], progress)
    return [_result(fields) for kind, *fields in facts if kind == "result"]


def papers(everything, jobs, progress):
    """{"figures": [...], "remarks": [...]}"""
    facts = _facts(["papers", f"jobs={jobs}", *(["long"] if everything else [])], progress)
    figures = [{"what": what, "paper": float(paper), "ours": float(ours), "allowed": allowed, "holds": holds == "1", "outside": outside}
               for kind, *fields in facts if kind == "figure" for what, paper, ours, allowed, holds, outside in [fields]]
    return {"figures": figures, "remarks": [fields[0] for kind, *fields in facts if kind == "remark"]}


def traffic(path, settings):
    """{"ranks", "messages", "bytes", "us"} of a file of messages."""
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from None
    facts = _facts(["traffic", path, *(f"{name}={value}" for name, value in settings.items())])
    (fields,) = [fields for kind, *fields in facts if kind == "took"]
    return {**dict(zip(("ranks", "messages", "bytes"), map(int, fields))), "us": float(fields[3])}


def allreduce(algorithm, size, settings):
    """The same of an allreduce with a rank on each accelerator."""
    ranks = _whole(settings, "nodes", 32) * _whole(settings, "accelerators", 8)
    with messages(algorithm, ranks, size) as path:
        return traffic(path, settings)


@contextlib.contextmanager
def messages(algorithm, ranks, size):
    """The path of a file with an allreduce's messages, which is there inside the with."""
    with tempfile.NamedTemporaryFile(prefix="nezha-", suffix=".traffic") as file:
        output_of("nezha_traffic", algorithm, str(ranks), str(size), to=file)
        yield file.name


def output_of(name, *arguments, to=subprocess.PIPE):
    """What one of the programs prints, if it is not printed `to` a file. CommandError where it fails."""
    program = os.path.join(installed.LIBEXEC, name)
    try:
        done = subprocess.run([program, *arguments], stdout=to, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    except OSError as error:
        raise CommandError(f"{program} cannot be run ({error.strerror})") from None
    _check(done.returncode, done.stderr, program)
    return done.stdout


def _whole(settings, name, default):
    try:
        return int(settings.get(name, default))
    except ValueError:
        raise UsageError(f"{name} '{settings[name]}': a whole number is allowed") from None


def _result(fields):
    numbers = [float(field) for field in fields]
    known = dict(zip(_NUMBERS, numbers))
    return {**known, "inter_parts_us": dict(zip(_PARTS, numbers[len(_NUMBERS):]))}


def _facts(arguments, progress=None):
    program = os.path.join(installed.LIBEXEC, "nezha_simulate")
    try:
        process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace")
    except OSError as error:
        raise CommandError(f"{program} cannot be run ({error.strerror})") from None
    try:
        facts = list(_heard(process.stdout, progress))
        trouble = process.stderr.read()
    except BaseException:
        process.kill()
        raise
    finally:
        process.wait()
    _check(process.returncode, trouble, program)
    return facts


def _check(status, trouble, program):
    """Raises what a program that has not ended well has said."""
    if status:
        text = " ".join(trouble.split()).removeprefix(f"{os.path.basename(program)}: ")
        raise (UsageError if status == USAGE else CommandError)(text or f"{program} ended with status {status}")


def _heard(lines, progress):
    """All facts but progress, which is told for each tenth."""
    told = 0
    for line in lines:
        kind, *fields = line.rstrip("\n").split("\t")
        if kind != "progress":
            yield kind, *fields
            continue
        tenths = int(10 * float(fields[0]))
        if tenths < told:  # of the next simulations
            told = 0
        if tenths > told:
            told = tenths
            progress.step(f"{10 * tenths} % simulated")
