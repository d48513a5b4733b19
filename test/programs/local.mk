# SPDX-License-Identifier: BSD-3-Clause
# TAP scripts test_*.py that run other people's programs with and without the component; contrib/check finds them itself.
#   EXTRA_DIST += %D%/test_mpi4py.py
