// SPDX-License-Identifier: BSD-3-Clause
// The same for tests: Makefile.am, "PRECOMPILED".
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "standard.h"
