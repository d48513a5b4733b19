# SPDX-License-Identifier: BSD-3-Clause
# long
"""contrib/figures training with a PyTorch that has MPI: a small network, a few iterations, every competitor. PyTorch takes 1 GB, so only
contrib/check --long installs it, in its Debian 13."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from bench_case import BUILD, TOP
from lab_case import make_lab

from nezha_training import jobs

FEW = ("--divide", "16", "--settle", "1", "--rounds", "1", "--warm", "1", "--seconds", "0.1", "--least", "3")


class Torch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = jobs.why_not()
        if reason:
            raise unittest.SkipTest(reason)
        make_lab(cls, nodes=2, rails=["none"])

    def run_it(self, *words):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "training.json")
            done = subprocess.run([sys.executable, os.path.join(TOP, "contrib", "figures"), "training", "--build", BUILD, "--json", path, *FEW, *words],
                                  capture_output=True, text=True, timeout=900, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                return done.stdout, json.load(file)["setups"]

    def test_every_competitor_trains_alike(self):
        said, (found,) = self.run_it("--cases", "1+0.5")
        (one,) = found["rounds"]
        self.assertEqual(set(one), {*jobs.COMPETITORS, "again"})
        for who, launched in one.items():
            self.assertTrue(launched["end"]["same"], who)
            self.assertGreaterEqual(len(launched["iterations"]), 4)
            for ours, theirs in zip(launched["iterations"], one["nezha"]["iterations"]):
                self.assertAlmostEqual(ours["loss"], theirs["loss"], delta=0.01)
        self.assertGreater(sum(one["nezha"]["carried"].values()), 2)
        self.assertEqual(one["ompi-all"]["carried"], {})
        self.assertRegex(said, r"(?m)^PyTorch's Gloo, all rails +\d")

    def test_the_real_networks_have_their_parameters(self):
        """Those of torchvision's models."""
        for model, parameters in (("alexnet", 61100840), ("vgg11", 132863336)):
            program = os.path.join(TOP, "contrib", "programs", "torch_training.py")
            counted = subprocess.run([jobs.PYTHON, "-c", f"import sys; sys.path.insert(0, {os.path.dirname(program)!r}); import torch_training as t; "
                                      f"print(sum(p.numel() for p in t.network({model!r}, 1).parameters()))"],
                                     capture_output=True, text=True, check=True)
            self.assertEqual(int(counted.stdout), parameters)


if __name__ == "__main__":
    unittest.main()
