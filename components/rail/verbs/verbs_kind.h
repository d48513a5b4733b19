// SPDX-License-Identifier: BSD-3-Clause
/// The verbs rails of one process: their listeners, and a look at what has completed. Descriptors: `all_` holds the completion
/// channels, `rare_` the listeners, the pairs' sockets and the devices' events.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "rail/message/queue_pair.h"
#include "rail/verbs/verbs_pair.h"
#include "util/clock.h"
#include "util/log.h"

namespace nezha {

class VerbsKind final : public MessageKind, private VerbsPairHost {
 public:
  VerbsKind(const VerbsOptions& options, const Clock& clock, Log log) : options_(options), clock_(clock), log_(log) {}
  /// Waits for tasks of pairs that were closed, of which one may be under way.
  ~VerbsKind() override;

  /// Takes the devices that can be rails, with listeners; logs why others cannot. Not ok: there is none.
  Status open(std::vector<std::unique_ptr<VerbsDevice>> devices);

  std::span<const RailAddress> rails() const override { return addresses_; }
  std::string where(const RailAddress& rail) const override;
  std::string pci_device(std::size_t rail) const override { return rails_[rail].device->pci_device(); }
  Status connect(std::size_t rail, const RailAddress& remote, std::unique_ptr<QueuePair>& made) override;
  bool poll(Watch watch, MessageArrivals& arrivals) override;
  int fd(Watch watch) const override { return (watch == Watch::all ? all_ : rare_).get(); }
  bool may_sleep(Watch watch) override;
  Nanoseconds next_deadline() const override;
  void employ_service(RailWorker& service) override { service_ = &service; }

 private:
  struct Rail {
    std::unique_ptr<VerbsDevice> device;
    Fd listener;
    Nanoseconds paused_until = 0;  ///< 0: accepting
  };

  struct Abandoned {
    std::shared_ptr<VerbsQueue> queue;
    Nanoseconds until = 0;  ///< when it is destroyed; 0: its task is under way, or completions are to be looked at before it stops
  };

  Status open_rail(Rail& rail, RailAddress& address);
  bool watch_fd(int fd, std::uint32_t events, std::uint64_t tag, int operation) const;
  std::unique_ptr<VerbsPair> make_pair(VerbsDevice& device, Fd fd, bool connecting);
  VerbsPair* find(std::uint32_t number) const;

  bool poll_completions(VerbsDevice& device);
  void complete(VerbsDevice& device, const ibv_wc& completion);
  bool poll_sockets(MessageArrivals& arrivals);
  bool poll_moves();
  void end_abandoned();
  void stop(Abandoned& abandoned);
  void accept_from(std::size_t rail, MessageArrivals& arrivals);
  void pause(std::size_t rail, int error);
  void resume();
  void hear_of_device(VerbsDevice& device, bool gone);
  void look_at(std::uint32_t number);

  Status watch(VerbsPair& pair, bool writable) override;
  void leave(VerbsPair& pair) override;
  void move(VerbsPair& pair, VerbsQueue& queue) override;
  void abandon(std::shared_ptr<VerbsQueue> queue) override;

  const VerbsOptions options_;
  const Clock& clock_;
  const Log log_;
  RailWorker* service_ = nullptr;
  Fd all_, rare_;
  std::vector<Rail> rails_;
  std::vector<RailAddress> addresses_;
  std::unordered_map<std::uint32_t, VerbsPair*> pairs_;  ///< by number; those that were closed are not in it
  std::uint32_t last_number_ = 0;
  std::uint64_t pauses_ = 0;
  std::vector<std::uint32_t> moving_;  ///< numbers of pairs
  int unlooked_ = 0;  ///< polls since the last look at sockets
  std::vector<Abandoned> abandoned_;
};

}  // namespace nezha
