// SPDX-License-Identifier: BSD-3-Clause
/// Turns the bytes of a stream into frames: says where the next bytes are to be read to, and tells the lane's events
/// what has arrived. Payload that is not staged yet is read straight to its place. Knows no sockets; one per lane.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>

#include "rail/rail.h"
#include "util/status.h"

namespace nezha {

class FrameReader {
 public:
  struct Sizes {
    std::size_t staging = 16 * 1024;      ///< at least a whole envelope and header
    std::size_t large_frame = 16 * 1024;  ///< payloads from here on are read straight to their places
    std::size_t tail = 256;               ///< staged behind a large payload
  };
  static constexpr std::size_t kMaxPlaces = 2 * kMaxFrameSegments;  ///< plan() never needs more

  /// `bin` receives what nobody wants; its contents mean nothing, so readers of one thread share it.
  FrameReader(const Sizes& sizes, std::span<std::byte> bin);

  /// Where the next bytes of the stream go, in order; fills `places` and returns how many. Never none.
  std::size_t plan(std::span<iovec, kMaxPlaces> places);

  /// `size` bytes were read to the places of the last plan(). Calls the events for what is complete now; they may call
  /// stop(), redirect() and anything of any lane but this reader's plan() and took(). Not ok: the stream is bad.
  Status took(std::size_t size, Lane& lane, LaneEvents& events);

  /// No more events, not even for what is staged.
  void stop() { stopped_ = true; }
  /// The rest of segment `index` of the frame being received goes into the bin.
  void redirect(std::size_t index);
  /// True while a frame has begun and not ended: the stream may not end here.
  bool inside_frame() const { return in_payload_ || begin_ != end_; }

 private:
  std::size_t plan_payload(std::span<iovec, kMaxPlaces> places);
  /// Passes over `size` bytes of payload that are at their places already, or copies them there `from` staging.
  void advance(std::size_t size, const std::byte* from);
  Status read_staged(Lane& lane, LaneEvents& events);
  Status begin_frame(Lane& lane, LaneEvents& events, bool& begun);
  Status check_places() const;

  const Sizes sizes_;
  const std::span<std::byte> bin_;
  const std::unique_ptr<std::byte[]> staging_;
  std::size_t begin_ = 0, end_ = 0;  ///< staged bytes that are not yet understood

  bool in_payload_ = false;  ///< then nothing is staged between took() and the next
  ScatterList places_;
  std::size_t at_ = 0, offset_ = 0;  ///< the segment that the next payload byte belongs to, and where in it
  std::size_t remaining_ = 0;        ///< bytes of payload to come
  bool large_ = false;               ///< the last frame was
  bool stopped_ = false;
};

}  // namespace nezha
