// SPDX-License-Identifier: BSD-3-Clause
#include "trunk/cork.h"

#include "trunk/trunk.h"

namespace nezha {

void Cork::send() {
  for (std::size_t i = 0; i < trunks_.size(); ++i) trunks_[i]->pump();
  trunks_.clear();
}

}  // namespace nezha
