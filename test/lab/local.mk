# SPDX-License-Identifier: BSD-3-Clause
# TAP scripts test_*.py that run on the emulated cluster; contrib/check and `make dist` find them by themselves.
