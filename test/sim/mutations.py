# SPDX-License-Identifier: BSD-3-Clause
"""Ways to spoil the engine that the simulator has to notice: what is taken out, the file, its words, and what stands
there instead. The words must occur exactly once in the file, so that none of these is forgotten when the engine changes.
"""

TRUNK = "components/trunk/"
MESSAGE = "components/rail/message/"
NODE = "components/node/"
ENGINE = "components/engine/"
STARS = ENGINE + "aggregation/"

MUTATIONS = [
    # Exactly once.
    ("duplicates are placed and completed as if they were new", TRUNK + "trunk_receive.cc", [
        ("    if (received_.contains(piece.id)) continue;\n", ""),
        ("if (received_.contains(piece.id)) {", "if (false) {")]),
    ("duplicates are found when they begin only", TRUNK + "trunk_receive.cc", [
        ("if (received_.contains(piece.id)) {", "if (false) {")]),
    ("another lane keeps writing into a complete piece", TRUNK + "trunk_receive.cc", [
        ("return piece.id == id;", "return id == 0 && piece.id == id;")]),
    # Nothing is lost.
    ("no replay of what a dead lane had", TRUNK + "trunk_silence.cc", [
        ("if (piece.lane != index || piece.acked) continue;", "continue;")]),
    ("acks for which no lane is free are forgotten", TRUNK + "trunk_send.cc", [
        ("if (best == nullptr) return false;", "if (best == nullptr) return pending_acks_.recorded(true), false;")]),
    # The source outlives its need.
    ("a lane in the middle of an acknowledged piece keeps reading its source", TRUNK + "trunk_ack.cc", [
        ("state.lane->busy()) state.lane->own_rest();", "state.lane->busy()) return;")]),
    ("the same, only where an ack comes", TRUNK + "trunk_ack.cc", [
        ("  own_if_busy(piece);\n  if (piece.kept != nullptr) retransmits_.release(piece.kept);", "  if (piece.kept != nullptr) retransmits_.release(piece.kept);")]),
    ("the same, only where a source is copied", TRUNK + "trunk_ack.cc", [
        ("  own_if_busy(piece);\n  piece.data = piece.kept = copy;", "  piece.data = piece.kept = copy;")]),
    ("what is unacknowledged at the end of a call is not copied", TRUNK + "trunk_ack.cc", [
        ("piece.data = piece.kept = copy;", "piece.kept = copy;")]),
    ("what is unacknowledged at the end of a call is let go", TRUNK + "trunk_ack.cc", [
        ("if (piece.flow == &flow && !keep_source(piece)) return false;", "if (piece.flow == &flow) acknowledged(piece);")]),
    ("a source is copied and let go while a NIC reads it", TRUNK + "trunk_ack.cc", [
        ("  if (reader_of(piece) != nullptr) return false;\n", "")]),
    ("any later value acknowledges all of an operation", TRUNK + "trunk_ack.cc", [
        ("if (piece.header.offset < offset + size && offset < piece.header.offset + piece.header.length) ", "")]),
    ("who has begun an operation is taken to have ended it", "components/engine/operations.cc", [
        ("peer_ended(team_, ended);", "peer_ended(team_, begun);")]),
    ("who has begun an operation is taken to have ended the one before", "components/engine/operations.cc", [
        ("while (ended_ < begun_ && slot_of(ended_ + 1).operation == nullptr) ++ended_;", "ended_ = begun_ - 1;")]),
    ("who has begun an operation is taken to have ended those of other teams", TRUNK + "trunk_ack.cc", [
        ("piece.header.team == team && piece.header.op <= op", "piece.header.op <= op")]),
    ("what is later overwritten is not superseded", "components/alg/ring.cc", [
        ("    if (piece.step >= gather_step()) team().superseded(team().next(), piece.offset, piece.length);\n", "")]),
    ("what halving later overwrites is not superseded", "components/alg/halving.cc", [
        ("{ team().superseded(from, piece.offset, piece.length); }", "{ static_cast<void>(from), static_cast<void>(piece); }")]),
    ("halving adds in the order of arrival", "components/alg/halving.cc", [
        ("added(index, chunk) == piece.step ? Arrival::added_at_once : Arrival::reserved", "Arrival::added_at_once")]),
    ("what doubling sends changes while it waits for a lane", "components/alg/doubling.cc", [
        (".data = own_slot(step),", ".data = call_.recv,")]),
    # A lane never waits for one operation.
    ("the sender ignores the window for early pieces", TRUNK + "trunk_send.cc", [
        ("if (flow.begun) return flow.queued();", "return flow.queued();")]),
    ("what operations that have ended have sent leaves the window", TRUNK + "trunk_ack.cc", [
        ("  return close_charge(flow);", "  return began(flow), true;")]),
    ("early pieces are thrown away", TRUNK + "trunk_receive.cc", [
        ("  early_.take(team, op,", "  if (false) early_.take(team, op,")]),
    ("who asked for window is not answered", TRUNK + "trunk_receive.cc", [
        ("  send_control(Control::begun, team, op).header.set_ended(ended);\n", "  static_cast<void>(ended);\n")]),
    ("nobody asks for window", TRUNK + "trunk_send.cc", [
        ("  send_control(Control::want, flow.team(), flow.op()).header.set_ended(flow.ended());\n", "")]),
    # Lanes to neighbours only.
    ("no lanes for what doubling sends", "components/alg/neighbours.cc", [
        ("partner >= 0) found.push_back(partner);", "partner >= 0 && step == 0) found.push_back(partner);")]),
    ("no lanes for the last halvings", "components/alg/neighbours.cc", [
        ("    found.push_back((position - distance + size) % size);", "    if (distance > size / 3) found.push_back((position - distance + size) % size);")]),
    ("a mesh is tried among ranks that have no lanes for it", "components/tuning/plan.cc", [
        ("  if (meshes(size)) return AlgorithmChoice::mesh;", "  return AlgorithmChoice::mesh;")]),
    # Nobody looks at trunks that are at rest.
    ("a trunk that owes an ack is at rest", "components/trunk/trunk_receive.cc", [
        ("  is_busy();\n  pending_acks_.add(piece);", "  pending_acks_.add(piece);")]),
    ("a trunk that has something to send is at rest", "components/trunk/trunk_send.cc", [
        ("  is_busy();\n  flow.push(chunk);", "  flow.push(chunk);")]),
    # Nor at teams that are at rest.
    ("a team whose call is under way is at rest", ENGINE + "core.cc", [
        ("  active_.add(team);\n", "")]),
    ("a team is at rest as soon as somebody has looked at it", ENGINE + "core_life.cc", [
        ("active_.keep([](const Team& team) { return team.active(); });", "active_.keep([](const Team&) { return false; });")]),
    # Rails over messages.
    ("messages are sent for which no receive is posted", MESSAGE + "channel.cc", [
        (" || under_way() + kReserved >= peer_receives_) return {};", ") return {};")]),
    ("a receive is posted before its message is read", MESSAGE + "channel.cc", [
        ("status = take_credit(header);", "status = pair_->post_receive(slot);\n  if (status.ok()) status = take_credit(header);"),
        ("  if (shares_ || (state_ == State::open && status.ok() && !ends_)) {", "  if (shares_ && !examined) {"),
        ("  Status status = state_ == State::open ?", "  const bool examined = state_ == State::open;\n  Status status = examined ?")]),
    ("the memory of a message is used again before it is sent", MESSAGE + "channel.cc", [
        ("  const std::size_t size = kMessageHeader + body;\n",
         "  const std::size_t size = kMessageHeader + body;\n  free_.insert(free_.begin(), slot);\n"),
        ("  took_back(slot);\n  note_owing();", "  lent_[slot - slots_.receives] = {};\n  note_owing();")]),
    ("a message for which the NIC has no room is forgotten", MESSAGE + "channel.cc", [
        ("    waiting_.push_back({slot, size});\n", "")]),
    ("a question is not answered", MESSAGE + "channel.cc", [
        ("answer_ = answer_ || header.answer;", "answer_ = false;")]),
    ("nobody asks", MESSAGE + "message_lane.cc", [
        ("if (pulse.in_flight != 0) channel_->ask();", ";")]),
]

# The same with an aggregation service in the world.
SERVICE_MUTATIONS = [
    ("a final sum lies where its last contribution was", "components/alg/star_fold.cc", [
        ("      std::byte* const final = rooms_.sum(slot.chunk);\n", "      std::byte* const final = value;\n"),
        ("rooms_.sum(slot.chunk));\n  finals_got_", "slot.value != nullptr && slot.final == 0 ? slot.value : rooms_.sum(slot.chunk));\n  finals_got_")]),
    ("a slot is used again without a word to the lanes that read it", "components/alg/star_fold.cc", [
        ("    here_->superseded(from, before.begin, before.size);\n", "    static_cast<void>(before);\n")]),
    ("contributions are added as they come", "components/alg/star_fold.cc", [
        ("    if (slot.got[static_cast<std::size_t>(member)] < chunk.size) return;\n", "")]),
    ("a member that lacks sums says that it has them", STARS + "stars.cc", [
        ("stars_[i]->complete() ? 0 : 1;", "0;")]),
    ("the service keeps the memory of communicators that it gives up", STARS + "aggregation_stars.cc", [
        ("  memory_ -= star.memory + star.next_memory;\n", "")]),
    ("a rack does not wait for what other racks add before", "components/alg/star_fold.cc", [
        ("      if (slot.have != before) send_up(slot, chunk);\n      return;", "      if (slot.have != before) send_up(slot, chunk);\n      if (slot.value == nullptr) return;\n      ++slot.have;\n      continue;")]),
    ("a contribution to a small call is kept until the own call ends", STARS + "small_calls.cc", [
        ("  star_ = nullptr;\n  release(before());", "  star_ = nullptr;\n  release(latest());\n  release(before());")]),
    ("a member that was woken sends nothing", "components/alg/single_step.cc", [
        ("    wake();\n    if (bytes", "    if (!call_.asleep) wake();\n    if (bytes")]),
    ("duplicates come to the service as if they were new", TRUNK + "trunk_receive.cc", [
        ("    if (received_.contains(piece.id)) continue;\n", ""),
        ("if (received_.contains(piece.id)) {", "if (false) {")]),
]

# The same where ranks of a node share memory.
NODE_MUTATIONS = [
    # Slots are used again when nobody reads them.
    ("a slot for a contribution is used again before all have reduced it", NODE + "chunked_operation.cc", [
        (" || (copies() && !slot_is_free(seen_reduced_, contributed_))) return false;", ") return false;")]),
    ("a slot for a sum is used again before its carrier has gathered it", NODE + "chunked_operation.cc", [
        ("return reached(carrier_of(chunk), &NodeFlags::gathered, chunk);", "return true;")]),
    ("a slot for the result is used again before all have taken it", NODE + "chunked_operation.cc", [
        ("    if (!slot_is_free(seen_taken_, next_supplied_)) return false;\n", "")]),
    # Flags say what is done.
    ("a contribution counts before it is there", NODE + "chunked_operation.cc", [
        ("say(&NodeFlags::contributed, ++contributed_);", "say(&NodeFlags::contributed, ++contributed_ + 1);")]),
    ("a slice counts before it is reduced", NODE + "chunked_operation.cc", [
        ("say(&NodeFlags::reduced, ++reduced_);", "say(&NodeFlags::reduced, ++reduced_ + 1);")]),
    ("a carrier gathers slices that are not reduced", NODE + "chunked_operation.cc", [
        ("next_carried_ >= cut_.chunks() || !all_reached(seen_reduced_, next_carried_)", "next_carried_ >= cut_.chunks()")]),
    ("a small vector is folded before all have begun", NODE + "small_operation.cc", [
        ("    if (NodeMemory::load(slot.flag) < operations_) return false;\n    if (!right_size(seen_,", "    if (!right_size(seen_,")]),
    ("a small vector is shared before all of it has come back", NODE + "small_operation.cc", [
        ("if (supplied_ || !reduced_ || !supplies() || up_to < part_.end) return;", "if (supplied_ || !reduced_ || !supplies()) return;")]),
    # Vectors belong to their callers again when nobody reads them.
    ("a call is over while others read its vectors", NODE + "chunked_operation.cc", [
        ("return copies() || (all_reached(seen_reduced_, chunks - 1) && all_reached(seen_taken_, chunks - 1));", "return true;")]),
    ("vectors are read although a member cannot read them", NODE + "node_trial.cc", [
        ("    access_ = NodeAccess::copies;\n", "")]),
    # Between nodes.
    ("a segment begins before its input is ready", ENGINE + "operation_carrier.cc", [
        ("    if (ready_ < end) break;\n", "")]),
    ("what has not come back counts as final", ENGINE + "operation_carrier.cc", [
        ("final_ = under_way_[first_].end;", "final_ = range_.end;")]),
    ("segments of all tracks have one id", ENGINE + "hierarchy.cc", [
        ("(spec_.team ^ kBetween) + i,", "(spec_.team ^ kBetween),")]),
    # Blocks.
    ("sums of all segments go to the beginning of the block", ENGINE + "operation_carrier.cc", [
        ("call_.recv + (begin - range_.begin) / nodes;", "call_.recv;")]),
    ("few carriers gather only what they have", NODE + "small_operation.cc", [
        ("member < memory_.members(); ++member) {\n    const NodeRange block", "member < 1; ++member) {\n    const NodeRange block")]),
    ("few carriers of a large vector gather only what they have", NODE + "chunked_operation.cc", [
        ("member < memory_.members(); ++member) {\n    const NodeRange all", "member < 1; ++member) {\n    const NodeRange all")]),
    ("the last pieces are as long as the others", ENGINE + "columns.cc", [
        ("const std::size_t piece = std::min(piece_, blocks() - begin), rest", "const std::size_t piece = piece_, rest")]),
    # Who is missed.
    ("the life of a stopped rank is ignored", ENGINE + "hierarchy.cc", [
        ("return life_->quiet(*member, now);", "return 0;")]),
    ("who gives up is named, not whom for", NODE + "node_stage.cc", [
        ("memory_.gone(named) == NodeEnd::gave_up ? memory_.blamed(named) : named;", "named;")]),
    ("a rank that has no memory counts as one that has", ENGINE + "team_agreement.cc", [
        ("const bool shared = !hierarchy_wanted_ || (hierarchy_ != nullptr && hierarchy_->trouble().ok());", "const bool shared = true;")]),
    # Ranks decide alike.
    ("ranks do not agree on how many of a node carry", ENGINE + "hierarchy.cc", [
        ("if (call.carriers != 0) return", "if (call.carriers != 0 && spec_.rank % 2 == 0) return")]),
    ("whether rates are known is each rank's own affair", ENGINE + "team_agreement.cc", [
        ("lacks_rates_ = rate_words_[0] != 0;", "lacks_rates_ = !sampled();")]),
]

# The same where both are so.
SERVICE_NODE_MUTATIONS = [
    ("a chunk goes to the service before the node has added it up", "components/alg/star_leaf.cc", [
        ("      if (chunk.end() > progress().ready) break;\n", "")]),
    ("the word on sums is said before the node has added up everything", STARS + "aggregated_carrier.cc", [
        (" || ready_ != range_.end) return moved;", ") return moved;")]),
    ("a call is over before all have said that they have all sums", STARS + "aggregated_carrier.cc", [
        ("  say(Stage::confirming, stars_->confirmation(clock_->now()), NEZHA_MAX);\n", "  stage_ = Stage::over;\n")]),
    ("contributions that have gone are taken from the vector again", STARS + "star.cc", [
        ("copy(rest.layout, progress_.sent, call.recv", "copy(rest.layout, 0, call.recv")]),
    ("who lacked sums keeps what there was", STARS + "star.cc", [
        ("  if (kept) copy(layout, final, kept.data(), call.recv);\n", "")]),
    ("sums are final for the node from the beginning", STARS + "aggregated_carrier.cc", [
        ("std::min(rails_.final_up_to(), range_.begin + std::min(stars_->final_up_to(), own_.bytes()))", "rails_.final_up_to()")]),
]
