# SPDX-License-Identifier: BSD-3-Clause
"""All checks, in the order in which they are told: a module each, with check(cluster), which yields findings."""

from . import (check_addresses, check_aggregators, check_component, check_kernel, check_memory, check_mtu, check_pairs, check_processors,
               check_rails, check_speed, check_subnets, check_versions)

ALL = (check_versions, check_component, check_rails, check_addresses, check_subnets, check_pairs, check_mtu, check_speed, check_aggregators,
       check_processors, check_kernel, check_memory)


def findings(cluster):
    return [finding for module in ALL for finding in module.check(cluster)]
