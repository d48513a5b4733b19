# SPDX-License-Identifier: BSD-3-Clause
# TAP scripts test_*.py that run on the emulated cluster; contrib/check finds them itself.
#   EXTRA_DIST += %D%/test_two_rails.py
