# SPDX-License-Identifier: BSD-3-Clause
"""What faults cost: rails are broken under a running job on the emulated cluster, and its calls are timed."""
