// SPDX-License-Identifier: BSD-3-Clause
/// The messages of one pair over its rail's endpoint, which knows no connections. The rail owns it, and keeps it when the pair is
/// closed: both sides say so and take what is still under way, so that no message is left over in libfabric's queues.
///
///   greeting --> calling --> open --> leaving --> cancelled --> over
///   call or      answer      close()  said close,  receives      nothing of it
///   answer goes  came                 heard close  taken back    is under way
///
/// Receives complete in any order where long messages go another way than short ones. Their contents are in the order in which
/// they were posted, since that is how FI_ORDER_SAS matches them: they are handed over in that order.
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "rail/message/queue_pair.h"
#include "rail/ofi/library.h"
#include "rail/ofi/rdm_addresses.h"
#include "rail/ofi/rdm_wire.h"

namespace nezha {

class RdmRail;
class RdmStream;

/// What libfabric is handed for an operation and gives back with its completion.
struct RdmOperation {
  fi_context2 own;    ///< libfabric's; first, since its address is what is handed over
  RdmStream* stream;  ///< null: a receive of the rail's own, for calls
  std::uint32_t slot;
};

class RdmStream {
 public:
  /// `other`: the number of the pair that called; 0: this one calls.
  RdmStream(RdmRail& rail, std::uint64_t number, std::shared_ptr<RdmPeer> peer, std::uint64_t other);

  std::uint64_t number() const { return number_; }

  // ---- for the pair
  Status enroll(const Slots& slots, QueuePairEvents& events);
  void start();
  Status post_receive(std::uint32_t slot);
  QueuePair::Posted post_send(std::uint32_t slot, std::size_t size);
  /// No more events. The memory is kept as long as it is under way.
  void close();

  // ---- for the rail
  /// Goes on with what had no room, and greets, leaves. True: something has happened.
  bool look();
  /// It has to be looked at again although nothing happens.
  bool restless() const { return greets() || says_close() || short_of_room_; }
  /// It waits for nothing but what is under way.
  bool ended() const { return cancelled_; }
  /// Nothing of it is under way, nor will be.
  bool over() const { return cancelled_ && under_way_ == 0; }
  /// `size`: of what a receive has got.
  void completed(std::uint32_t slot, std::size_t size);
  void failed(std::uint32_t slot, const Status& why);
  /// Nothing more can be sent or received.
  void broken(const Status& why);
  /// Takes back the receives.
  void cancel();

  bool listed = false;  ///< among those that the rail looks at

 private:
  static constexpr std::uint32_t kMostPosted = 8;  ///< receives: providers have some thousand for all pairs
  static constexpr int kMostTries = 1000;          ///< to say close
  static constexpr std::size_t kOpen = ~std::size_t{0};

  struct Receive {
    std::uint32_t slot;
    std::size_t size;  ///< kOpen: it is posted
  };

  // Of operations without slots of the memory.
  std::uint32_t greeting_slot() const { return slots_.receives + slots_.sends; }
  std::uint32_t close_slot() const { return greeting_slot() + 1; }
  bool greets() const { return started_ && !greeted_ && !closed_; }
  bool says_close() const { return closed_ && other_ != 0 && !said_close_ && !cancelled_; }
  bool greet();
  void say_close();
  void heard_close();
  Status post_waiting();
  long send(std::uint32_t slot, std::span<const std::byte> message, std::uint64_t tag, const Fid<fid_mr>& memory, bool& copied);
  void received(std::uint32_t slot, std::size_t size);
  void deliver(std::uint32_t slot, std::size_t size);
  void take_answer(std::uint32_t slot, std::size_t size);

  RdmRail& rail_;
  const std::uint64_t number_;
  const std::shared_ptr<RdmPeer> peer_;
  std::uint64_t other_;  ///< the other end's number; 0: not known yet
  const bool calls_;
  Slots slots_;
  QueuePairEvents* events_ = nullptr;
  const std::shared_ptr<RdmWords> greeting_;
  std::unique_ptr<RdmOperation[]> operations_;  ///< of the slots, the greeting and the close
  Fid<fid_mr> memory_, greeting_memory_;        ///< null where the provider wants none
  std::deque<Receive> posted_;
  std::deque<std::uint32_t> waiting_;  ///< to be posted
  std::size_t under_way_ = 0;          ///< operations that libfabric has
  int tries_ = 0;
  bool started_ = false, greeted_ = false, closed_ = false, said_close_ = false, heard_close_ = false, cancelled_ = false;
  bool short_of_room_ = false;  ///< a receive was refused for now
};

/// What the channel has of it.
class RdmPair final : public QueuePair {
 public:
  explicit RdmPair(RdmStream& stream) : stream_(&stream) {}
  ~RdmPair() override { close(); }

  Status enroll(const Slots& slots, QueuePairEvents& events) override { return stream_->enroll(slots, events); }
  Status start() override {
    stream_->start();
    return {};
  }
  Status post_receive(std::uint32_t slot) override { return stream_->post_receive(slot); }
  Posted post_send(std::uint32_t slot, std::size_t size) override { return stream_->post_send(slot, size); }
  void close() override {
    if (stream_ != nullptr) std::exchange(stream_, nullptr)->close();
  }

 private:
  RdmStream* stream_;
};

}  // namespace nezha
