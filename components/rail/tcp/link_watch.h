// SPDX-License-Identifier: BSD-3-Clause
/// Hears from the kernel when a link or an address of this network namespace changes: carrier, renaming, deletion, and the
/// way back.
#pragma once

#include <memory>

#include "util/status.h"

struct mnl_socket;

namespace nezha {

class LinkWatch {
 public:
  Status open();
  /// Polls readable when there is something to hear; -1 when not open.
  int fd() const;
  /// Takes what there is. True: something changed, or so much that the kernel had to leave it out.
  bool changed();

 private:
  struct Close {
    void operator()(mnl_socket* socket) const;
  };
  std::unique_ptr<mnl_socket, Close> socket_;
};

}  // namespace nezha
