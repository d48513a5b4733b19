// SPDX-License-Identifier: BSD-3-Clause
/// Rails over the byte transfer layers (BTLs) of Open MPI: a last resort for networks that no other kind speaks. One rail per
/// module, by its number among those that Open MPI sends by: "btl/0". They move only in threads of the host's, and do not
/// survive the loss of their network: Open MPI itself does not.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "rail/btl/btl_head.h"
#include "rail/btl/btl_pair.h"
#include "rail/btl/host_messages.h"
#include "rail/message/options.h"
#include "rail/message/queue_pair.h"
#include "util/fd.h"

namespace nezha {

inline constexpr char kBtl[] = "btl";

/// For make_message_transport().
MessageOptions btl_options(std::size_t first_rail);

class BtlKind final : public MessageKind {
 public:
  /// `modules`: a rail for each. `messages` outlives this.
  BtlKind(HostMessages& messages, std::vector<std::uint8_t> modules, std::uint32_t job_rank);
  ~BtlKind() override { say_last(); }
  Status open();

  std::span<const RailAddress> rails() const override { return addresses_; }
  std::string where(const RailAddress& rail) const override;
  Status connect(std::size_t rail, const RailAddress& remote, std::unique_ptr<QueuePair>& made) override;
  bool poll(Watch watch, MessageArrivals& arrivals) override;
  int fd(Watch watch) const override { return (watch == Watch::all ? all_ : rare_).get(); }
  /// Whoever drives looks at the host in any case: no descriptor tells of it.
  bool may_sleep(Watch) override { return true; }
  bool may_post() const override { return messages_.may_send(); }
  void ending() override { ending_ = true; }
  bool part() override { return parting_ = true; }
  bool parted() const override { return last_.empty() && awaited_.empty(); }

  // ---- for its pairs
  std::uint8_t module(std::size_t rail) const { return modules_[rail]; }
  BtlHead head(BtlType type, std::size_t rail, std::uint64_t to, std::uint64_t from) const {
    return {type, modules_[rail], job_rank_, to, from};
  }
  HostMessages::Taken send(const BtlHead& head, std::uint32_t rank, std::span<const std::byte> body);
  /// Who closes a connection first then waits for the other side to do so too, and has read all that it sent before.
  bool closes_both() const { return ending_; }
  void opened(BtlPair& pair) { pairs_[pair.number()] = &pair; }
  void introduce_later(const BtlPair& pair) { to_introduce_.push_back(pair.number()); }
  void tell_later(const BtlPair& pair) { to_tell_.push_back(pair.number()); }
  /// `last` is for the peer; from 0: it has not heard of the pair.
  void closed(const BtlPair& pair, const BtlHead& last, std::uint32_t rank);

 private:
  struct Last {
    BtlHead head;
    std::uint32_t rank;
  };

  BtlPair* find(std::uint64_t number) const;
  BtlPair* receiver_of(const BtlHead& head) const;
  bool introduce();
  void say_last();
  void take(std::span<const std::byte> message, MessageArrivals& arrivals);
  void heard_close(const BtlHead& head);

  HostMessages& messages_;
  const std::vector<std::uint8_t> modules_;
  const std::uint32_t job_rank_;
  std::vector<RailAddress> addresses_;
  Fd all_, rare_;  ///< never readable
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, BtlPair*> pairs_;
  std::vector<std::uint64_t> to_introduce_, to_tell_;
  std::vector<Last> last_;
  bool ending_ = false, parting_ = false;
  std::vector<Last> awaited_;  ///< what was said last by connections that the other side has not closed yet
};

}  // namespace nezha
