# SPDX-License-Identifier: BSD-3-Clause
"""Checks a mapping of a description against a table of fields: what is unknown, missing or out of range is an error that names it."""

import dataclasses
import math
import reprlib
from collections.abc import Callable

from .errors import PlanError

REQUIRED = object()
_NO_NUMBER = 1e300  # nor what is infinite, or larger than a float
_MOST_SHOWN = 60  # letters of a value


@dataclasses.dataclass(frozen=True)
class Field:
    """read(value) gives what the model uses, or raises ValueError with what is allowed. default: already read."""

    read: Callable
    default: object = REQUIRED


def whole(least, most):
    def read(value):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"a whole number from {least} to {most} is allowed")
        return value
    return read


def number(above, most=math.inf, least=None):
    """A number more than `above`, or from `least` on where that is given."""
    def read(value):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _NO_NUMBER:
            raise ValueError(text)
        if not (value >= least if least is not None else value > above) or value > most:
            raise ValueError(text)
        return float(value)

    low = f"from {least:g} on" if least is not None else f"above {above:g}"
    text = f"a number {low}{f' and up to {most:g}' if most < math.inf else ''} is allowed"
    return read


def one_of(*words):
    def read(value):
        if isinstance(value, bool) or value not in words:
            raise ValueError(f"{', '.join(map(str, words))} are allowed")
        return value
    return read


def truth(value):
    if not isinstance(value, bool):
        raise ValueError("true and false are allowed")
    return value


def name(value):
    if not isinstance(value, str) or not value or len(value) > 256 or not value.isprintable():
        raise ValueError("a name of 1 to 256 letters is allowed")
    return value


def names(value):
    if not isinstance(value, list):
        raise ValueError("a list of names is allowed")
    return tuple(name(entry) for entry in value)


def take(mapping, place, table):
    """{field: what is read} of all fields in `table`. place: how errors call the mapping, as 'rails[1]'; '' for the whole."""
    if not isinstance(mapping, dict):
        raise PlanError(f"{place or 'the description'}: fields with values are allowed, not {_shown(mapping)}")
    for key in mapping:
        if key not in table:
            raise PlanError(f"{_at(place, key)}: there is no such field; {', '.join(table)} are allowed")
    found = {}
    for key, field in table.items():
        if key in mapping:
            found[key] = read(field.read, mapping[key], _at(place, key))
        elif field.default is REQUIRED:
            raise PlanError(f"{_at(place, key)} is missing")
        else:
            found[key] = field.default
    return found


def read(reader, value, place):
    try:
        return reader(value)
    except ValueError as error:
        raise PlanError(f"{place}: {_shown(value)}: {error}") from None


def entries(value, place, most):
    """The entries of a list, each with its place."""
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        raise PlanError(f"{place}: a list of 1 to {most} entries is allowed, not {_shown(value)}")
    return [(entry, f"{place}[{index}]") for index, entry in enumerate(value)]


def _at(place, key):
    text = key if isinstance(key, str) and key.isprintable() and len(key) <= _MOST_SHOWN else _shown(key)
    return f"{place}.{text}" if place else text


def _shown(value):
    """Of a list not all: aliases of YAML make a short file longer than any memory."""
    try:
        text = reprlib.repr(value) if isinstance(value, (list, dict)) else repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # Python writes integers of a few thousand digits at most
        text = "a number of too many digits"
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN - 3] + "..."
