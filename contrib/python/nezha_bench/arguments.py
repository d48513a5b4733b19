# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and lists on a command line, for argparse."""

import argparse


def positive(text):
    return _at_least(1, text)


def not_negative(text):
    return _at_least(0, text)


def _at_least(least, text):
    number = int(text)
    if number < least:
        raise argparse.ArgumentTypeError(f"'{text}': {least} or more is allowed")
    return number


def seconds(text):
    number = float(text)
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}': 0 or more is allowed")
    return number


def more_than_0(text):
    number = seconds(text)
    if number == 0:
        raise argparse.ArgumentTypeError(f"'{text}': more than 0 is allowed")
    return number


def listed(allowed):
    """'ring,mesh': a list of words, each one of `allowed`."""
    def parse(text):
        words = text.split(",")
        for word in words:
            if word not in allowed:
                raise argparse.ArgumentTypeError(f"'{word}': {', '.join(allowed)} are allowed")
        return words

    return parse


def numbers(text):
    """'8,16': a list of whole numbers from 1 on."""
    return [positive(word) for word in text.split(",")]
