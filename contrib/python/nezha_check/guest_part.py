# SPDX-License-Identifier: BSD-3-Clause
"""The part "guest": one boot of a virtual machine with RDMA devices, in which the scripts of test/guest run."""

import os
import sys

from nezha_check.run import Test, run_test
from nezha_check.tree import build_for

TIMEOUT = 600  # it takes a quarter of that on an idle machine


def run_guest(check):
    built = build_for(check, "guest", check.build_dir, ["mpi", "guest"])
    if built.outcome == "failed":
        return [built]
    tap = os.path.join(check.top, "contrib", "python", "nezha_lab", "tap.py")
    command = [os.path.join(check.top, "contrib", "lab"), "guest", "--timeout", str(TIMEOUT), "--", sys.executable, tap,
               os.path.join(check.top, "test", "guest")]
    # Twice the time: a guest whose kernel panics boots once more. Where there can be none, the status says so, and why.
    return run_test(Test("test/guest", command, check.log("guest"), 2 * TIMEOUT + 60, check.script_env(check.build_dir), check.top))
