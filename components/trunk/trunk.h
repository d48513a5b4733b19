// SPDX-License-Identifier: BSD-3-Clause
/// All the lanes to one peer, as one reliable way for pieces: each is delivered exactly once, whatever lanes carry it
/// and however often, and nothing that was handed over is lost while the trunk lives, also across a time with no lane.
///
/// Threads: none of its own; guarded by the engine's lock. Its clock is the caller's. After the usual number of
/// pieces, early ones and chunks has been seen once, nothing is allocated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rail/rail.h"
#include "trunk/ahead.h"
#include "trunk/busy.h"
#include "trunk/early_store.h"
#include "trunk/failure.h"
#include "trunk/flow.h"
#include "trunk/gone_teams.h"
#include "trunk/cork.h"
#include "trunk/block_ring.h"
#include "trunk/lane_state.h"
#include "trunk/pending_acks.h"
#include "trunk/rail_notice.h"
#include "trunk/received_set.h"
#include "trunk/sent_log.h"
#include "trunk/strategy.h"
#include "util/clock.h"
#include "util/log.h"

namespace nezha {

class Trunk;

/// Who gets the pieces that a trunk receives. This and the next two are implemented by the engine and called from
/// inside Transport::progress.
class PieceReceiver {
 public:
  /// Where the payload of a new piece goes. Its header is from the wire: untrusted.
  virtual Placement place(Trunk& trunk, const PieceHeader& piece) = 0;
  /// Its bytes are about to be written where that said, over what was sent from there.
  virtual void arriving(Trunk& trunk, const PieceHeader& piece) = 0;
  /// A piece placed direct or scratch is complete at `data`. Never called twice for one piece. False: it cannot be.
  virtual bool arrived(Trunk& trunk, const PieceHeader& piece, const std::byte* data) = 0;

 protected:
  ~PieceReceiver() = default;
};

/// How far the peer is with the operations of teams.
class OperationNews {
 public:
  /// The peer wants to know when `op` of `team` has begun here: true when it has.
  virtual bool has_begun(TeamId team, OpNumber op) = 0;
  /// The peer has begun `begun`, and needs nothing more of anybody for the operations up to `ended`. Of several words
  /// the last to come may be an old one.
  virtual void peer_at(Trunk& trunk, TeamId team, OpNumber begun, OpNumber ended) = 0;
  /// The peer, or somebody before it, has given up an operation of the team.
  virtual void team_failed(TeamId team, const Failure& failure) = 0;

 protected:
  ~OperationNews() = default;
};

/// What becomes of rails and lanes.
class LaneNews {
 public:
  /// A rail of the peer is back, has another address, or is new. What it says of a rail comes in the order in which it said so.
  virtual void peer_rail(Trunk& trunk, const RailNotice& notice) = 0;
  /// Its far end has not answered for that long, while another lane's has: its pieces go again elsewhere.
  virtual void lane_suspected(Trunk& trunk, const Lane& lane, Nanoseconds silent) = 0;
  /// It answers again.
  virtual void lane_forgiven(Trunk& trunk, const Lane& lane) = 0;
  /// The lane's end; the trunk has already arranged for its pieces. The lane is to be forgotten, but not from within.
  virtual void lane_lost(Trunk& trunk, Lane& lane, const Status& why) = 0;

 protected:
  ~LaneNews() = default;
};

/// Outlive the trunk.
struct TrunkOwner {
  PieceReceiver& pieces;
  OperationNews& operations;
  LaneNews& lanes;
};

/// What becomes of the bytes of a flow that is given up.
enum class Source { goes, stays };

constexpr std::uint32_t kNoNumber = ~std::uint32_t{0};

struct TrunkOptions {
  std::size_t retransmit_memory = 256 * 1024;  ///< for bytes whose source is gone
  std::size_t early_window = 256 * 1024;  ///< early pieces kept for the peer
  std::size_t peer_window = 256 * 1024;   ///< what the peer keeps for us
  bool checksum = false;                  ///< CRC32C over payloads
  Cork* cork = nullptr;                   ///< of all trunks of an engine; null: nothing is held back
  Busy* busy = nullptr;                   ///< of all trunks of an engine; null: somebody looks at this one all the time
  std::uint32_t number = kNoNumber;       ///< of this one among them, from 0 on
};

class Trunk final : public LaneEvents {
 public:
  Trunk(ProcessId peer, const TrunkOptions& options, const TrunkOwner& owner, const Clock& clock, const Log& log);
  Trunk(const Trunk&) = delete;
  Trunk& operator=(const Trunk&) = delete;

  ProcessId peer() const { return peer_; }
  std::uint32_t number() const { return options_.number; }

  // ---- lanes (trunk_lanes.cc)
  /// Makes room for a lane between these rails; `rail` outlives the trunk. Not from within a call of the trunk's.
  void add_lane(std::uint8_t local_rail, std::uint8_t remote_rail, RailLoad& rail);
  /// There is to be a lane between these rails.
  bool knows_lane(std::uint8_t local_rail, std::uint8_t remote_rail) const;
  /// Another lane between these rails would be of use: there is none, or the one that is up has been silent for longer
  /// than can be expected, up to this moment.
  bool wants_lane(std::uint8_t local_rail, std::uint8_t remote_rail) const;
  /// The lane takes the place of one that is up: the other side has lost that and does not wait until we know it too,
  /// or it was silent while this one came up.
  void lane_up(Lane& lane);
  std::size_t lanes_up() const;
  /// The user says which lane carries how much.
  bool shares_fixed() const;
  /// Bytes per nanosecond of the lanes that are up together, as far as it was measured.
  double rate() const;
  /// That of the fastest of them.
  double best_rate() const;
  /// Bytes that lanes were given and that are not known to have come to the other side.
  std::size_t under_way() const;
  /// How fast the slowest lane that is up is, as a part of the fastest; 0 = the rate of one is not known yet.
  double evenness() const;
  /// Closes all lanes, and calls closed(lane) for each.
  template <typename Closed>
  void close(const Closed& closed) {
    for (LaneState& state : lanes_)
      if (Lane* lane = state.lane; lane != nullptr) end_lane(state), closed(*lane);
  }
  void close() {
    close([](Lane&) {});
  }
  /// Looks whether the far ends of lanes that have something under way still answer. Every few milliseconds.
  void listen(Nanoseconds now);
  /// For how long, as far as it was looked at, the peer's process has given no sign of life although it was asked for one.
  /// It is asked by this call, when nothing has come for `ask_after`, and ever more rarely again; the call has to come several times a second as
  /// long as anybody cares.
  Nanoseconds quiet(Nanoseconds now, Nanoseconds ask_after);
  /// The peer's process was given up for its silence, and is out of reach until it is heard.
  void miss() { missed_ = true; }
  bool missed() const { return missed_ && !heard_; }
  /// Gives the peer a sign of life that it has not asked for.
  void show_life();
  /// Tells the peer that the team has failed. `charged`: what abort_flow() returned of its flows, which counts against
  /// the peer's window until it has heard this, as does what is charged for operations that have ended.
  void tell_failed(TeamId team, std::size_t charged, const Failure& failure);
  /// Tells the peer where a rail of this process is now, or that it is there again.
  void tell_rail(const RailNotice& notice);

  // ---- sending (trunk_send.cc)
  /// Puts a chunk on its way: at once when a lane has room and nothing holds it back.
  void send(Flow& flow, const ReadyChunk& chunk);
  /// Hands over what lanes can take now.
  void pump();
  bool has_queued() const { return !flows_.empty() || replays_ != 0 || ack_due(); }
  /// The flow's operation is about to begin here, for which the peer sends `expected` bytes: when they may exceed its
  /// window, it is told before our own chunks fill the lanes' queues, in which the answer to its question would have to
  /// wait.
  void tell_begun(const Flow& flow, std::size_t expected);
  /// The bytes [offset, offset + size) that were sent for `flow` have served their purpose (a later value of theirs
  /// is arriving): their source may change when this returns.
  void superseded(Flow& flow, std::uint64_t offset, std::uint64_t size);
  /// The peer is known to have begun the flow's operation: the window does not count any more.
  void began(Flow& flow);
  /// The peer has ended the team's operations up to `op`, for which it needed all that was sent for them: so that is
  /// acknowledged.
  void peer_ended(TeamId team, OpNumber op);
  /// Ends the flow's operation here: afterwards nothing refers to the operation's memory. False when too much is still
  /// unacknowledged to be copied, or a NIC has not read it yet; to be called again after progress. The flow's
  /// queue must be empty. What a peer that is not known to have begun it was sent goes on to count against its window.
  bool close_flow(Flow& flow) { return (flow.unacked == 0 && flow.charged == 0) || keep_sources(flow); }
  /// Ends it without success: what is queued is dropped, what is unacknowledged is not sent again; a lane whose NIC still reads it
  /// is closed, unless the source stays as it is. The peer is to be told. Returns how many bytes of it the peer may keep as early
  /// pieces.
  std::size_t abort_flow(Flow& flow, Source source = Source::goes);
  /// Sends the acks that are owed. True when there were any.
  bool send_acks();
  /// Something is outstanding: pieces of ours unacknowledged, or acks of ours not sent that a lane could take. A peer that waits
  /// for acks finds out itself that its lane is dead; to one that does not, there may be no lane until it next has something to send.
  bool outstanding() const { return !log_.empty() || (pending_acks_.pieces() != 0 && lanes_up() != 0); }
  /// False: the peer has acknowledged nothing for so long that it is not to be told more.
  bool may_tell() const { return log_.room_for_answer(); }
  /// False: something is under way. Else Busy does not have it from here on, until that is so again.
  bool rest(Nanoseconds now);

  // ---- receiving (trunk_receive.cc)
  /// An operation has begun here, those up to `ended` have ended: delivers its early pieces and tells the peer if it
  /// asked.
  void op_begun(TeamId team, OpNumber op, OpNumber ended) {
    if (!early_.empty() || !wants_.empty()) answer_begun(team, op, ended);
  }
  /// What is half-way here of that operation goes to its place no more: the memory is about to be somebody else's.
  void discard(TeamId team, OpNumber op);
  /// The team is gone or has failed: nothing of it will be wanted any more.
  void forget_team(TeamId team);
  /// Of the latest of those.
  bool is_gone(TeamId team) const { return gone_.contains(team); }
  Status frame_begins(Lane& lane, std::span<const std::byte> header, std::size_t payload, ScatterList& into) override;
  Status frame_ends(Lane& lane) override;
  void lane_free(Lane& lane) override;
  void lane_down(Lane& lane, const Status& why) override;

 private:
  static constexpr std::size_t kAckBytes = 128 * 1024;
  static constexpr std::size_t kAckPieces = 32;

  struct Want {
    TeamId team;
    OpNumber op;
  };
  struct Frame;  ///< one frame being put together

  LaneState& state_of(Lane& lane);
  bool answers_without_calls() const;
  /// Of the lane between these rails; lanes_.size() when there is to be none.
  std::size_t index_between(std::uint8_t local_rail, std::uint8_t remote_rail) const;
  void suspect(LaneState& state, Nanoseconds now);
  void forgive(LaneState& state, Nanoseconds now);
  bool heard_beside(const LaneState& state) const;
  void seek_proof(Nanoseconds now);
  void close_lane(LaneState& state, const Status& why);
  void end_lane(LaneState& state);
  void peer_closed(std::uint64_t connection);
  void take_back(const LaneState& state);

  /// A peer waits for our acks only to free memory: they may be rare, but not so rare that its memory runs out. Both
  /// sides have about the same number of peers, so its memory is about as large as ours.
  bool ack_due() const { return owes(1); }
  /// So much is owed that the next frame had better take the ack along, which makes it longer and costs both sides: at
  /// 4 KiB 3 % of a call. What is owed until then waits for more, or for the service thread.
  bool ack_rides() const { return owes(4); }
  /// A `part`th of what makes an ack due.
  bool owes(std::size_t part) const {
    return pending_acks_.pieces() >= kAckPieces / part || pending_acks_.bytes() >= ack_bytes_ / part;
  }

  void is_busy();
  std::size_t sendable(const Flow& flow) const;
  std::size_t queued() const;
  std::size_t whole() const;
  void count_shares_anew();
  bool held_back();
  void pump_lanes();
  const Strategy& strategy() const;
  RailSet rails_wanted() const;
  bool send_frame(LaneState& state, std::size_t room, Nanoseconds now);
  bool hand_over(LaneState& state, Frame& frame, Nanoseconds now);
  void send_ack(LaneState& state);
  void send_alone(LaneState& state, SentPiece& record);
  void add_replays(Frame& frame, std::size_t room);
  void add_flows(Frame& frame, std::size_t room);
  bool add_chunk(Frame& frame, Flow& flow, std::size_t room);
  void add_piece(Frame& frame, SentPiece& piece, std::size_t reach = 0);
  /// Both: the record is good until the next piece is added.
  SentPiece& add_control(Control control);
  SentPiece& send_control(Control control, TeamId team, OpNumber op);
  void ask_for_window(Flow& flow);
  bool keep_sources(Flow& flow);
  bool close_charge(Flow& flow);
  void ask_ahead(TeamId only = 0);
  void peer_at(const PieceHeader& piece);
  void answer_begun(TeamId team, OpNumber op, OpNumber ended);
  void unlist(Flow& flow);
  std::uint8_t index_of(const LaneState& state) const { return static_cast<std::uint8_t>(&state - lanes_.data()); }

  bool take_ack(const AckRecord& ack);
  void acknowledged(SentPiece& piece);
  void drop_acked();
  void own_if_busy(const SentPiece& piece);
  LaneState* reader_of(const SentPiece& piece);
  void withdraw(SentPiece& piece);
  bool keep_source(SentPiece& piece);

  Placement place_of(const PieceHeader& piece);
  Status place_all(LaneState& state);
  Status complete(LaneState& state, std::size_t index);
  bool deliver(const PieceHeader& piece, Placement place, const std::byte* data);
  bool settle_early(const PieceHeader& piece, std::byte* buffer);
  Status control_arrived(LaneState& state, const PieceHeader& piece);
  void discard_elsewhere(std::uint64_t id);
  template <typename Unwanted>
  void discard(const Unwanted& unwanted);
  void to_bin(LaneState& state, std::size_t index);
  void drop_receiving(LaneState& state);

  const ProcessId peer_;
  const TrunkOptions options_;
  const std::size_t ack_bytes_ = std::min<std::size_t>(kAckBytes, options_.retransmit_memory / 4);  ///< for so many an ack is due
  const TrunkOwner owner_;
  const Clock& clock_;
  const Log& log_sink_;
  const Strategy* strategy_;

  std::vector<LaneState> lanes_;

  // Sending.
  SentLog log_;
  BlockRing retransmits_;
  std::vector<Flow*> flows_;  ///< with chunks queued; served in turn
  std::size_t turn_ = 0;
  std::size_t early_used_ = 0;  ///< bytes charged against the peer's window, all flows
  Ahead ahead_;                 ///< those of flows that are closed
  std::size_t replays_ = 0;     ///< pieces in log_ without a lane: replays and control records
  std::size_t replay_bytes_ = 0;  ///< their payload
  bool pumping_ = false;
  bool held_ = false;  ///< is to be pumped at the end of the hold
  std::uint32_t notices_ = 0;  ///< of rails, that were sent
  bool busy_ = false;  ///< Busy has it

  // Signs of life.
  bool heard_ = false;          ///< a frame has come since the last quiet()
  bool missed_ = false;         ///< see miss(); no more once `heard_`
  bool sign_wanted_ = false;    ///< the peer was asked for one since it was last heard
  Nanoseconds sign_asked_ = 0;  ///< when it was, the last time
  Nanoseconds asked_ = 0;       ///< when quiet() was last called
  Nanoseconds alive_ = 0;       ///< when it last saw a sign of life, or began to ask for one
  Nanoseconds proof_sought_ = 0;  ///< when it was asked beside a silent lane; 0: it has been heard since

  // Receiving.
  ReceivedSet received_;
  EarlyStore early_;
  std::vector<Want> wants_;
  GoneTeams gone_;
  PendingAcks pending_acks_;
  NoticeReader rail_news_;
};

}  // namespace nezha
