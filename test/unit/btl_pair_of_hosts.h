// SPDX-License-Identifier: BSD-3-Clause
/// Two hosts whose byte transfer layer is memory of the test: ranks 0 and 1, one module.
#pragma once

#include <deque>
#include <utility>

#include "rail/btl/btl_kind.h"
#include "rail/message/message_transport.h"
#include "tcp_pair.h"

namespace nezha::test {

class FakeHost final : public HostMessages {
 public:
  bool may_send() const override { return here; }
  Taken send(std::size_t rail, std::uint32_t job_rank, std::span<const std::byte> head,
             std::span<const std::byte> body) override {
    if (rail != 0 || job_rank > 1) return Taken::never;
    if (refuse_every != 0 && ++sends_ % refuse_every == 0) return Taken::later;
    Message& message = under_way_.emplace_back(head.begin(), head.end());
    message.insert(message.end(), body.begin(), body.end());
    ++sent;
    return Taken::yes;
  }
  /// In two pieces each.
  bool deliver() {
    if (under_way_.empty()) return false;
    for (const Message& message : std::exchange(under_way_, {})) {
      const std::span<const std::byte> whole(message);
      const std::array<std::span<const std::byte>, 2> pieces{whole.first(whole.size() / 3), whole.subspan(whole.size() / 3)};
      other->arrived(pieces);
    }
    return true;
  }

  FakeHost* other = nullptr;
  bool here = true;           ///< the thread may send
  unsigned refuse_every = 0;  ///< of so many sends one is put off; 0: none
  std::size_t sent = 0;

 private:
  std::deque<Message> under_way_;
  unsigned sends_ = 0;
};

inline std::unique_ptr<BtlKind> make_btl_kind(FakeHost& host, std::uint32_t rank) {
  auto kind = std::make_unique<BtlKind>(host, std::vector<std::uint8_t>{0}, rank);
  EXPECT_TRUE(kind->open().ok());
  return kind;
}

}  // namespace nezha::test
