// SPDX-License-Identifier: BSD-3-Clause
/// A reliable-connected queue pair and the TCP connection that sets it up and stays beside it: RC does not show that a process
/// has died, TCP does.
///
///   connecting side: dialing -> asking -> moving -> up       accepting side: asking -> moving -> up
/// dialing: connect(2) is under way. asking: the other side's words are awaited. moving: a task of the service thread makes the
/// pair ready, which may wait for the neighbour's address; then the accepting side answers.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "rail/message/queue_pair.h"
#include "rail/rail.h"
#include "rail/verbs/verbs_device.h"
#include "rail/verbs/verbs_options.h"
#include "rail/verbs/verbs_queue.h"
#include "rail/verbs/verbs_words.h"
#include "util/fd.h"

namespace nezha {

class VerbsPair;

/// What a pair needs of its kind, and tells it. Outlives the pairs.
class VerbsPairHost {
 public:
  /// The socket becomes readable, or writable for `writable`, for VerbsPair::look(). Not ok: it cannot be watched.
  virtual Status watch(VerbsPair& pair, bool writable) = 0;
  /// The pair has been closed.
  virtual void leave(VerbsPair& pair) = 0;
  /// Has the queue run, which may block; VerbsPair::moved() follows in a poll() once it is over.
  virtual void move(VerbsPair& pair, VerbsQueue& queue) = 0;
  /// Stops the queue of a pair that has been closed, after its task if that is under way, and destroys it some time later.
  virtual void abandon(std::shared_ptr<VerbsQueue> queue) = 0;

 protected:
  ~VerbsPairHost() = default;
};

class VerbsPair final : public QueuePair {
 public:
  /// `fd`: connected, or, for the connecting side, on its way. `number` tells completions of this pair from others'.
  VerbsPair(VerbsPairHost& host, VerbsDevice& device, const VerbsOptions& options, Fd fd, bool connecting, std::uint32_t number);
  ~VerbsPair() override { close(); }

  Status enroll(const Slots& slots, QueuePairEvents& events) override;
  Status start() override;
  Status post_receive(std::uint32_t slot) override;
  std::uint32_t shared_receives() const override { return receives_ != nullptr ? receives_->share() : 0; }
  std::span<const std::byte> shared_slot(std::uint32_t slot) const override { return receives_->slot(slot); }
  Posted post_send(std::uint32_t slot, std::size_t size) override { return post_lent(slot, size, {}); }
  Lent lend(std::span<const std::byte> bytes, std::size_t reach) override;
  Posted post_lent(std::uint32_t slot, std::size_t size, const Lent& lent) override;
  void close() override;

  std::uint32_t number() const { return number_; }
  VerbsDevice& device() const { return device_; }
  int fd() const { return fd_.get(); }

  /// From MessageKind::poll(). The pair may be gone after any of these, since they tell its events.
  void complete(const ibv_wc& completion);
  /// The socket has something. True when the other side is gone, and only what has completed already can be taken.
  bool look();
  /// Goes on where the task is over.
  void moved();
  void lose(const Status& why);
  /// The task is over.
  bool has_moved() const { return queue_->over(); }

 private:
  enum class Step { idle, dialing, asking, moving, up, over };

  Status make_pair();
  Status dialed();
  Status tell();
  /// The other side's words, as far as they are there.
  Status hear();
  /// Words that name another address would have this process ask for a neighbour that may not be there.
  bool is_from(const PairWords& other) const;
  void begin_to_move(const PairWords& other);

  VerbsPairHost& host_;
  VerbsDevice& device_;
  const VerbsOptions& options_;
  Fd fd_;
  const bool connecting_;
  const std::uint32_t number_;
  const std::shared_ptr<VerbsReceives> receives_;  ///< null: it has its own
  Step step_ = Step::idle;
  QueuePairEvents* events_ = nullptr;
  Slots slots_;

  std::shared_ptr<VerbsQueue> queue_;  ///< null: before enroll(), and once it is closed
  std::uint8_t gid_index_ = 0;
  PairWords own_;
  PairWordsBytes heard_{};
  std::size_t heard_bytes_ = 0;

  std::uint32_t depth_ = 0;         ///< sends that the pair holds
  std::uint32_t inline_bytes_ = 0;
  std::uint32_t posted_ = 0;        ///< sends whose completion, or that of a later one, has not come
  std::uint32_t unsignalled_ = 0;   ///< of them, since the last that completes
  std::deque<std::uint32_t> covers_;  ///< how many sends each completion stands for, in order
};

}  // namespace nezha
