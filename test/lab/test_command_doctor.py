# SPDX-License-Identifier: BSD-3-Clause
"""nezha doctor on this host: what it tells of jobs that are started without it."""

import json
import os
import tempfile
import unittest
from unittest import mock

from command_case import COMPONENT, CommandCase

from nezha_doctor import facts
from nezha_lab import openmpi

BY_MPIRUN = ("--", "-np", "2")


class Doctor(CommandCase):
    def setUp(self):
        self.home = self.enterContext(tempfile.TemporaryDirectory())

    def doctor(self, *arguments, status=1, **settings):
        """Without any parameter of Open MPI's but `settings`; with a rail on every machine."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("OMPI_MCA_")}
        env.update(HOME=self.home, OMPI_MCA_coll_nezha_single_node="1", **settings)
        return json.loads(self.nezha("doctor", "--json", *arguments, status=status, env=env))

    def component(self, *arguments, **options):
        return [finding["what"] for finding in self.doctor(*arguments, **options)["findings"] if finding["check"] == "component"]


class Component(Doctor):
    """It was installed where Open MPI does not look."""

    def test_a_job_that_is_told_nothing(self):
        for words in (), BY_MPIRUN:
            with self.subTest(words):
                (what,) = self.component(*words)
                self.assertIn(f"it is in {COMPONENT}, where Open MPI does not look", what)

    def test_a_path_in_the_environment(self):
        for words in (), BY_MPIRUN:
            self.assertEqual(self.component(*words, status=0, **openmpi.component_path(COMPONENT)), [])

    def test_a_path_in_a_file_of_the_users(self):
        os.mkdir(os.path.join(self.home, ".openmpi"))
        with open(os.path.join(self.home, ".openmpi", "mca-params.conf"), "w", encoding="ascii") as file:
            for name, value in openmpi.component_path(COMPONENT).items():
                file.write(f"{name.removeprefix('OMPI_MCA_')} = {value}\n")
        for words in (), BY_MPIRUN:
            self.assertEqual(self.component(*words, status=0), [])

    def by_option(self, place, **options):
        ((name, value),) = openmpi.component_path(place).items()
        return self.component(*BY_MPIRUN, "--mca", name.removeprefix("OMPI_MCA_"), value, **options)

    def test_a_path_among_the_options_of_mpirun(self):
        self.assertEqual(self.by_option(COMPONENT, status=0), [])
        (what,) = self.by_option(self.home)
        self.assertIn("does not list coll/nezha", what)


class Cores(Doctor):
    def test_mpirun_binds_what_it_starts(self):
        """To a core each, which the job's ranks need not share."""
        (node,) = self.doctor("--", "-np", "1", "--bind-to", "core", status=0, **openmpi.component_path(COMPONENT))["nodes"].values()
        self.assertEqual((node["machine"]["cores"], node["machine"]["all_cores"]), (facts.cores(), os.cpu_count()))

    def test_where_a_binding_cannot_be_changed(self):
        with mock.patch("os.sched_setaffinity", side_effect=PermissionError):
            self.assertEqual(facts.cores(), len(os.sched_getaffinity(0)))


if __name__ == "__main__":
    unittest.main()
