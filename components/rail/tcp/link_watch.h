// SPDX-License-Identifier: BSD-3-Clause
/// Hears from the kernel when a link or an address of this network namespace changes (carrier, renaming, deletion, and the
/// way back), and keeps a table of all of them by that alone.
///
/// The whole list is only needed at the start, and after the kernel had to leave messages out. To ask for it may block, which
/// is why it is left to a task (link_task.h): between list_begins() and list_ends() messages are heard as ever, so that a
/// lost rail is noticed meanwhile, and kept, since the list may be older than they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rail/tcp/link_table.h"
#include "util/status.h"

struct mnl_socket;

namespace nezha {

class LinkWatch {
 public:
  /// `buffer`: bytes of the kernel's memory for what has not been heard yet; it may grant less.
  Status open(std::size_t buffer);
  /// Polls readable when there is something to hear; -1 when not open.
  int fd() const;
  const LinkTable& table() const { return table_; }

  /// Takes a bounded number of messages (after an overrun all that the kernel's buffer holds); what is left keeps fd()
  /// readable. Adds the indices of the interfaces that they are about to `touched`. Never blocks.
  void hear(std::vector<std::uint32_t>& touched);
  /// The table may lack something: the list is needed.
  bool stale() const { return stale_; }

  void list_begins();
  /// `list` is what the kernel answered; it is exchanged with the table, whose memory the caller may free when it likes.
  /// False: more has changed meanwhile than was kept, and the table is what it was and stale. `torn`: the list may lack
  /// something, and the table is stale with it too.
  bool list_ends(LinkTable& list, bool torn = false);

 private:
  struct Close {
    void operator()(mnl_socket* socket) const;
  };
  void take(const LinkChange& change);
  void lose();

  std::unique_ptr<mnl_socket, Close> socket_;
  LinkTable table_;
  bool stale_ = true;
  bool listing_ = false;
  bool lost_meanwhile_ = false;      ///< while listing_
  std::vector<LinkChange> meanwhile_;  ///< while listing_
};

}  // namespace nezha
