# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of a layer are declared in that layer's own local.mk.
tap_tests += %D%/layers_check.py %D%/unit/test_check_counts.py %D%/unit/test_check_units.py %D%/unit/test_manual.py %D%/unit/test_examples_apply.py %D%/unit/test_documents.py

# Files of learned tables, for tests.
EXTRA_DIST += %D%/tables/learned.json %D%/tables/bench.json %D%/tables/lab.json %D%/tables/lab-small.json %D%/tables/costs.txt

# Linked into sanitized programs by contrib/check.
EXTRA_DIST += %D%/sanitizers/memmove.cc

# The developer's guide's, see test/unit/test_examples_apply.py and test/build/test_examples.py.
EXTRA_DIST += %D%/examples/algorithm.patch %D%/examples/parameter.patch %D%/examples/rail.patch

include test/threads/local.mk
include test/sim/local.mk
include test/guest/local.mk
include test/mpi/local.mk
include test/sharp/local.mk
include test/programs/local.mk
include test/lab/local.mk
include test/fuzz/local.mk
