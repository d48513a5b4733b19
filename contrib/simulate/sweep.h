/* SPDX-License-Identifier: BSD-3-Clause */
/// Several simulations, a thread for each that runs.
#pragma once

#include <functional>
#include <vector>

#include "measured.h"
#include "setting.h"

namespace nezha_simulate {

/// Runs `settings` with `jobs` at a time; what each measures, in their order, does not depend on `jobs`. `progress`
/// hears from any thread, one at a time, what part of all is done, 0 to 1.
std::vector<Measured> sweep(const std::vector<Setting>& settings, int jobs,
                            const std::function<void(double)>& progress = {});

}  // namespace nezha_simulate
