// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/busy.h"

#include "trunk/trunk.h"

namespace nezha {

void Busy::let_go(Nanoseconds now) {
  std::erase_if(trunks_, [now](Trunk* trunk) { return trunk->rest(now); });
}

}  // namespace nezha
