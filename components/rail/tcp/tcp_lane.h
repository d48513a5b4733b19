// SPDX-License-Identifier: BSD-3-Clause
/// One admitted connection: frames out by one gathering system call each, frames in through a FrameReader.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rail/frame.h"
#include "rail/frame_reader.h"
#include "rail/rail.h"
#include "util/fd.h"
#include "rail/tcp/options.h"
#include "rail/tcp/send_task.h"

namespace nezha {

class TcpLane;

/// What the lanes of one transport share. Outlives them.
struct TcpLaneContext {
  const TcpOptions& options;
  const Clock& clock;
  Fd all;                         ///< epoll descriptor of Watch::all
  Fd rare;                        ///< of Watch::rare
  std::vector<std::byte> bin;     ///< for what nobody wants
  std::vector<TcpLane*> broken;   ///< lanes whose lane_down is still to be told
  std::vector<std::unique_ptr<std::byte[]>> spares;  ///< buffers of a whole frame for own_rest()
  std::size_t lane_memory = 0;    ///< bytes that a lane's receive buffer may have
  Fd over;                        ///< eventfd: a task is over
  std::vector<TcpLane*> away;     ///< lanes whose frame was left to a worker
  std::array<RailWorker*, kMaxRails + 1> workers{};  ///< by the process's rail, the loopback too; null: it has none

  /// Goes on with the frames whose task is over. True when there was any.
  bool hear_of_tasks() { return !away.empty() && go_on_with_tasks(); }
  bool go_on_with_tasks();
};

class TcpLane final : public Lane {
 public:
  TcpLane(const LaneSpec& spec, Fd fd, std::string text, TcpLaneContext& context);
  ~TcpLane() override { close(); }

  /// Enters the socket into both epoll descriptors.
  Status watch();
  /// Keeps to what the kernel may have for it by now.
  void bound_memory();
  void set_events(LaneEvents& events) { events_ = &events; }

  Sent send(std::span<const std::byte> header, std::span<const Gather> payload) override;
  bool busy() const override { return rest_count_ > 0 || away(); }
  void own_rest() override;
  void redirect(std::size_t index) override { reader_.redirect(index); }
  std::size_t fill() override;
  Nanoseconds min_rtt() override;
  LanePulse pulse() override;
  void close() override;

  /// Reads what there is within the budget and reports it. True when there was anything.
  bool receive();
  /// Goes on with a partly sent frame.
  void flush();
  const SendTask& task() const { return task_; }
  /// The same for one that was left to the worker, whose call is over.
  void task_over();
  /// No more traffic, for that reason; lane_down follows from progress().
  void break_off(Status why) { fail(std::move(why)); }
  /// Closes a broken lane and tells its events, once.
  void report_broken();

  std::size_t index = 0;  ///< in the transport's list

 private:
  enum class State { open, broken, closed };

  std::span<iovec> rest() { return std::span(rest_).subspan(rest_at_, rest_count_); }
  bool write_rest();
  void keep_rest(std::size_t sent);
  void ask_info();
  void watch_writable(bool wanted);
  void drop_rest();
  /// No more traffic; lane_down follows from progress().
  void fail(Status why);
  void detach();

  // tcp_lane_worker.cc
  bool away() const { return away_ != nullptr; }
  RailWorker* worker_for(std::size_t bytes) const;
  void leave_to(RailWorker& worker);
  void call_back();
  void end_task();

  TcpLaneContext& context_;
  Fd fd_;
  const std::string text_;  ///< rails and peer, for messages
  State state_ = State::open;
  LaneEvents* events_ = nullptr;
  Status why_;

  FrameReader reader_;

  /// The frame being sent: out_ holds envelope and header, rest_[rest_at_, rest_at_ + rest_count_) what is to go.
  std::array<std::byte, kEnvelopeSize + kMaxFrameHeader> out_;
  std::array<iovec, 1 + kMaxFrameSegments> rest_;
  std::size_t rest_at_ = 0, rest_count_ = 0;
  std::unique_ptr<std::byte[]> owned_;
  SendTask task_;
  RailWorker* away_ = nullptr;  ///< who has the frame, until task_over()

  Nanoseconds min_rtt_ = 0;
  LanePulse pulse_;
  Nanoseconds info_due_ = 0;
  bool info_asked_ = false;
};

}  // namespace nezha
