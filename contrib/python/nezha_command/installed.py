# SPDX-License-Identifier: BSD-3-Clause
"""Where things were installed and for which Open MPI: set by the script `nezha` that make wrote, before anything else runs."""

VERSION = ""
LIBEXEC = ""  # nezha_ask and the benchmark
COMPONENT = ""  # mca_coll_nezha.so
OMPI_VERSION = ""
