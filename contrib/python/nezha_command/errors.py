# SPDX-License-Identifier: BSD-3-Clause
"""What a subcommand raises when it cannot do its work, and the exit statuses of all of them."""

GOOD = 0
FOUND = 1  # it did its work, and found something that is not as it should be
USAGE = 2  # wrong arguments; argparse's own
UNABLE = 3  # it could not do its work


class CommandError(Exception):
    """One sentence for the user: what failed, and what to do. status: what the command then ends with."""

    status = UNABLE


class UsageError(CommandError):
    """Wrong arguments."""

    status = USAGE


def of_bench(error):
    """The CommandError that tells of a BenchError."""
    return (UsageError if error.status == USAGE else CommandError)(str(error))
