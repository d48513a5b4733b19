// SPDX-License-Identifier: BSD-3-Clause
/// NVIDIA's SHARP library, opened at run time. Any thread.
#pragma once

#include <string>

#include "sharp/sharp_api.h"
#include "util/status.h"

namespace nezha {

/// Opens the library at `path`; where that is empty, the one that configure was told of. It stays until the process ends.
/// Code::absent: this Nezha was built without SHARP, or the library, or a function in it, is not there.
Status open_sharp_library(const std::string& path, sharp_api::Functions& sharp);

}  // namespace nezha
