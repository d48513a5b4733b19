# SPDX-License-Identifier: BSD-3-Clause
# TAP scripts test_*.py that run other people's programs with and without the component; contrib/check and `make dist` find
# them by themselves.
EXTRA_DIST += %D%/si.in %D%/hpccinf.txt %D%/salt.in
