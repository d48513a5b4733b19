// SPDX-License-Identifier: BSD-3-Clause
/// Fuzz target: everything that reads bytes of a peer behind the lanes: records of a frame, a process's address, and a
/// trunk that is fed arbitrary frames on two lanes. Whatever comes, memory outside the places stays as it is, and no
/// piece is told of twice.
///
/// The input is a list of steps: a byte (bit 0: the lane; bits 1-2: 0 a frame begins and ends, 1 it begins, 2 it ends,
/// 3 the operation's number goes up), and for a frame a byte with the size of its records in units of 4 bytes and the
/// records.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/address.h"
#include "trunk/trunk.h"

#include "require.h"

namespace {

using namespace nezha;

using Input = std::span<const std::byte>;

constexpr std::size_t kMemory = 64 * 1024;
constexpr std::size_t kWindow = 16 * 1024;

struct StillClock final : Clock {
  Nanoseconds now() const override { return kSecond; }
};

struct DeafLane final : Lane {
  using Lane::Lane;
  explicit DeafLane(std::uint8_t rail) : Lane({2, rail, rail, false, rail}) {}
  Sent send(std::span<const std::byte> header, std::span<const Gather> payload) override {
    std::size_t size = 0;
    for (const Gather& part : payload) size += part.size;
    FrameRecords records;
    REQUIRE(parse_records(header, size, records).ok());
    return Sent::whole;
  }
  bool busy() const override { return false; }
  void own_rest() override {}
  void redirect(std::size_t index) override {
    REQUIRE(index < places.count);
    places.segments[index].data = nullptr;
  }
  std::size_t fill() override { return 0; }
  Nanoseconds min_rtt() override { return 0; }
  void close() override { closed = true; }

  ScatterList places;
  bool receiving = false;
  bool closed = false;
};

/// Team 1 has begun operation `begun`; it is picky about offsets as an algorithm is.
struct Receiver final : PieceReceiver, OperationNews, LaneNews {
  Placement place(Trunk&, const PieceHeader& piece) override {
    if (piece.team != 1 || piece.op > begun) return {PlaceKind::early};
    if (piece.op < begun) return {PlaceKind::bin};
    if (piece.length > kMemory || piece.offset > kMemory - piece.length) return {PlaceKind::bad};
    if (piece.step == 1) return {PlaceKind::scratch};
    return {PlaceKind::direct, memory.data() + 64 + piece.offset, piece.step == 2};
  }
  void arriving(Trunk&, const PieceHeader&) override {}
  bool arrived(Trunk&, const PieceHeader& piece, const std::byte* data) override {
    REQUIRE(told.insert(piece.id).second);
    std::uint8_t sum = 0;  // reads all of it
    for (std::size_t i = 0; i < piece.length; ++i) sum = static_cast<std::uint8_t>(sum + std::to_integer<int>(data[i]));
    return sum != 77;
  }
  bool has_begun(TeamId team, OpNumber op) override { return team == 1 && op <= begun; }
  void peer_at(Trunk&, TeamId, OpNumber begun, OpNumber ended) override {
    REQUIRE(ended <= begun && (ended == 0 || begun - ended <= kMostUnderWay));
  }
  void team_failed(TeamId, const Failure& failure) override { REQUIRE(failure.why <= Failure::Why::gone); }
  void peer_rail(Trunk&, const RailNotice& notice) override {
    REQUIRE(notice.rail < kMaxRails && notice.address.place.size() <= kMaxRailPlace);
  }
  void lane_suspected(Trunk&, const Lane&, Nanoseconds) override {}
  void lane_forgiven(Trunk&, const Lane&) override {}
  void lane_lost(Trunk&, Lane&, const Status&) override {}

  OpNumber begun = 1;
  std::vector<std::byte> memory = std::vector<std::byte>(kMemory + 128);
  std::set<std::uint64_t> told;
};

class Driver {
 public:
  Driver() : trunk_(2, options(), {receiver_, receiver_, receiver_}, clock_, log_) {
    for (std::uint8_t i = 0; i < 2; ++i) {
      trunk_.add_lane(i, i, loads_[i]);
      raise(i);
    }
    flow_.open(1, 1, 4);  // something to acknowledge, to supersede and to ask window for
    trunk_.send(flow_, {.data = source_.data(), .size = static_cast<std::uint32_t>(source_.size())});
  }
  ~Driver() {
    trunk_.abort_flow(flow_);
    trunk_.close();
  }

  void run(Input input) {
    while (!input.empty()) {
      const auto what = std::to_integer<unsigned>(input[0]);
      input = input.subspan(1);
      const std::size_t lane = what & 1;
      if ((what >> 1 & 3) == 3) {
        ++receiver_.begun;
        trunk_.op_begun(1, receiver_.begun, receiver_.begun - 1);
      } else if ((what >> 1 & 3) == 2) {
        end(lane);
      } else {
        input = begin(lane, input);
        if ((what >> 1 & 3) == 0) end(lane);
      }
    }
    for (std::size_t i = 0; i < 64; ++i) {
      REQUIRE(receiver_.memory[i] == std::byte{0});
      REQUIRE(receiver_.memory[kMemory + 64 + i] == std::byte{0});
    }
  }

 private:
  static TrunkOptions options() {
    TrunkOptions options;
    options.retransmit_memory = options.early_window = options.peer_window = kWindow;
    return options;
  }
  void raise(std::size_t lane) {
    lanes_[lane].emplace(static_cast<std::uint8_t>(lane));
    trunk_.lane_up(*lanes_[lane]);
  }
  /// The payload of a frame is not in the input: its length is what the records say, its bytes do not matter.
  Input begin(std::size_t lane, Input input) {
    if (lanes_[lane]->receiving) end(lane);
    const std::size_t records = input.empty() ? 0 : std::to_integer<std::size_t>(input[0]);
    const std::size_t size = input.empty() ? 0 : std::min(records * 4, input.size() - 1);
    const Input header = input.empty() ? input : input.subspan(1, size);
    std::size_t payload = 0;
    for (std::size_t at = 0; at < header.size();) {
      const bool piece = header[at] == std::byte{1};
      if (piece && header.size() - at >= kPieceRecord) {
        std::uint32_t length;
        std::memcpy(&length, header.data() + at + 4, sizeof length);
        payload += length % (2 * kMaxFramePayload);
      }
      const bool checked = piece && header.size() - at > 1 && (header[at + 1] & std::byte{2}) != std::byte{0};
      at += checked ? kCheckedPieceRecord : piece ? kPieceRecord : kAckRecord;
    }
    FrameRecords parsed;
    (void)parse_records(header, payload, parsed);
    if (payload <= kMaxFramePayload && header.size() <= kMaxFrameHeader) receive(lane, header, payload);
    return input.empty() ? input : input.subspan(1 + size);
  }
  void receive(std::size_t lane, Input header, std::size_t payload) {
    DeafLane& at = *lanes_[lane];
    at.places.count = 0;
    if (!trunk_.frame_begins(at, header, payload, at.places).ok()) return lose(lane);
    std::size_t sum = 0;
    for (std::size_t i = 0; i < at.places.count; ++i) sum += at.places.segments[i].size;
    REQUIRE(sum == payload);
    at.receiving = true;
  }
  void end(std::size_t lane) {
    DeafLane& at = *lanes_[lane];
    if (!at.receiving) return;
    at.receiving = false;
    for (std::size_t i = 0; i < at.places.count; ++i)
      if (at.places.segments[i].data != nullptr) std::memset(at.places.segments[i].data, 1, at.places.segments[i].size);
    if (!trunk_.frame_ends(at).ok()) lose(lane);
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (lanes_[i]->closed) raise(i);  // the peer said that it had closed it
  }
  /// A transport says nothing more of a lane that the trunk has closed.
  void lose(std::size_t lane) {
    if (!lanes_[lane]->closed) trunk_.lane_down(*lanes_[lane], {Code::bad_wire, "refused"});
    raise(lane);
    trunk_.pump();
  }

  StillClock clock_;
  Log log_;
  Receiver receiver_;
  std::array<RailLoad, 2> loads_;
  Trunk trunk_;
  std::array<std::optional<DeafLane>, 2> lanes_;
  Flow flow_;
  std::vector<std::byte> source_ = std::vector<std::byte>(40000);
};

void check_address(Input input) {
  Address address;
  const Status status = decode_address(input, address);
  if (!status.ok()) {
    REQUIRE(!status.text().empty());
    return;
  }
  REQUIRE(address.id != 0 && address.rails.size() <= kMaxRails);
  const std::vector<std::byte> again = encode_address(address);
  REQUIRE(again.size() == input.size() && std::memcmp(again.data(), input.data(), input.size()) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Input input(reinterpret_cast<const std::byte*>(data), size);
  check_address(input);
  Driver().run(input);
  return 0;
}
