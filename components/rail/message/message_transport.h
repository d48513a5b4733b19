// SPDX-License-Identifier: BSD-3-Clause
/// The transport of every kind of rails over whole messages: admission, lanes, waiting. What the kind supplies is in
/// queue_pair.h.
///
/// Descriptors: the kind's one for completions lies in `all_`, its one for connections in both; `all_` lies in `rare_`, armed
/// while the process is about to sleep, connections wait for admission, or memory of sends is still read: transports may need to
/// be looked at to go on sending. Lanes and admissions that are over live until the end of the next progress().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rail/message/admission.h"
#include "rail/message/message_lane.h"
#include "rail/message/options.h"
#include "rail/message/queue_pair.h"
#include "rail/rail.h"
#include "util/fd.h"
#include "util/log.h"

namespace nezha {

class MessageTransport final : public Transport, private MessageArrivals, private MessageAdmission::Host {
 public:
  MessageTransport(std::unique_ptr<MessageKind> kind, const MessageOptions& options, const Clock& clock, Log log,
                   Admission& admission, ProcessId self);
  ~MessageTransport() override;

  Status open();

  std::span<const RailAddress> rails() const override { return kind_->rails(); }
  std::string where(const RailAddress& rail) const override { return kind_->where(rail); }
  std::string pci_device(std::size_t rail) const override { return kind_->pci_device(rail); }
  void connect(const LaneSpec& spec, std::size_t local, const RailAddress& remote, Nanoseconds deadline) override;
  bool progress(Watch watch) override;
  bool admit() override;
  void arm_payload_wakeup() override;
  int wait_fd(Watch watch) const override;
  Nanoseconds next_deadline() const override;
  void bound_lanes(std::size_t bytes) override { lane_memory_ = options_.bound_times * bytes; }
  void ending() override { kind_->ending(); }
  void part() override;
  bool parted() const override { return kind_->parted(); }
  bool lends() const override { return options_.lend_from != 0; }
  void employ_service(RailWorker& service) override { kind_->employ_service(service); }
  void forget(Lane& lane) override;

 private:
  struct Failure {
    LaneSpec spec;
    Status why;
  };

  void arrived(std::size_t rail, std::unique_ptr<QueuePair> pair, std::string from) override;
  void admitted(MessageAdmission& pending) override;
  void reached(MessageAdmission& pending) override;
  void failed(MessageAdmission& pending, const Status& why) override;

  std::string lane_text(std::size_t rail, const std::string& peer) const;
  MessageAdmission& add(bool connecting, const LaneSpec& spec, std::size_t rail, std::string peer, Nanoseconds deadline,
                        std::unique_ptr<QueuePair> pair);
  void finish(MessageAdmission& pending, const Status& why);
  void make_room(std::size_t rail);
  bool look(Watch watch);
  bool report_failures();
  bool deliver_kept();
  bool look_after_channels();
  void expire();
  bool woken_by_data();
  void arm(bool on) const;
  void wake_up() const;
  bool sending() const;

  const std::unique_ptr<MessageKind> kind_;
  const MessageOptions options_;
  const Clock& clock_;
  const Log log_;
  Admission& admission_;
  const ProcessId self_;
  std::size_t lane_memory_;
  std::vector<std::byte> bin_;
  ChannelNews news_;
  std::vector<std::unique_ptr<MessageAdmission>> pending_;  ///< in order of arrival
  std::vector<std::unique_ptr<MessageLane>> lanes_, forgotten_;
  std::vector<Failure> failures_;
  std::uint64_t refusals_ = 0;
  Fd all_, rare_, kick_;
  mutable bool armed_ = false, kicked_ = false;
};

std::unique_ptr<Transport> make_message_transport(std::unique_ptr<MessageKind> kind, const MessageOptions& options,
                                                  const Clock& clock, Log log, Admission& admission, ProcessId self, Status* why);

}  // namespace nezha
