// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/hold.h"

#include "trunk/trunk.h"

namespace nezha {

void Hold::send() {
  for (std::size_t i = 0; i < trunks_.size(); ++i) trunks_[i]->pump();
  trunks_.clear();
}

}  // namespace nezha
