#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes `configure` from a checkout. A release tarball has it already.
set -e
cd "$(dirname "$0")"

for tool in autoconf automake libtoolize pkg-config; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "autogen.sh: $tool is missing: install autoconf, automake, libtool and pkg-config" >&2
        exit 1
    fi
done
exec autoreconf --force --install --warnings=all
