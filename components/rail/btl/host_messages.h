// SPDX-License-Identifier: BSD-3-Clause
/// Messages by the host's own byte transfer layers, as rails see them. They go and come only while a thread of the host's is in
/// the host, so that nobody answers for a process that computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace nezha {

class HostMessages {
 public:
  enum class Taken { yes, later, never };
  using Message = std::vector<std::byte>;

  virtual ~HostMessages() = default;

  /// Whether the calling thread may send.
  virtual bool may_send() const = 0;
  /// Copies a message for the process of that rank in the job, to go by the layer's module `rail`. Between two processes those of
  /// one rail arrive in order. never: not this one and no other, since there is no such module or process.
  virtual Taken send(std::size_t rail, std::uint32_t job_rank, std::span<const std::byte> head,
                     std::span<const std::byte> body) = 0;

  /// A message came, in pieces. Any thread, whatever lock it holds: only the bytes are kept.
  void arrived(std::span<const std::span<const std::byte>> pieces);
  /// Those that came since, in order, untrusted. For one thread at a time, like give_back().
  std::vector<Message> take();
  /// Their memory serves those to come.
  void give_back(std::vector<Message> messages);

 private:
  std::mutex mutex_;  ///< guards what follows; nobody is called with it
  std::vector<Message> came_, spare_;
};

}  // namespace nezha
