// SPDX-License-Identifier: BSD-3-Clause
#include "engine/team.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "alg/neighbours.h"
#include "engine/near_rails.h"
#include "tuning/siblings.h"

namespace nezha {

Team::Team(std::string name, int rank, std::vector<Peer*> peers, const Address& self, Nanoseconds wiring_until,
           BufferPool& buffers, OpNumber before, bool within_node)
    : name_(std::move(name)),
      own_node_(self.node),
      own_near_(self.near),
      rank_(rank),
      within_node_(within_node),
      wiring_until_(wiring_until),
      peers_(std::move(peers)),
      operations_(view_, before) {
  order_by_node(own_node_);
  view_.size = static_cast<int>(peers_.size());
  view_.rank_at = rank_at_;
  view_.buffers = &buffers;
}

/// Ring order: ranks of one node are neighbours, nodes in the order of their lowest ranks. All ranks compute the same.
void Team::order_by_node(const std::string& own_node) {
  const auto node = [&](int rank) -> const std::string& {
    return rank == rank_ || within_node_ ? own_node : peers_[static_cast<std::size_t>(rank)]->address.node;
  };
  std::vector<int> first(peers_.size());
  std::unordered_map<std::string_view, int> lowest;
  for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
    first[static_cast<std::size_t>(rank)] = lowest.emplace(node(rank), rank).first->second;
    rank_at_.push_back(rank);
  }
  std::stable_sort(rank_at_.begin(), rank_at_.end(), [&](int a, int b) {
    return first[static_cast<std::size_t>(a)] < first[static_cast<std::size_t>(b)];
  });
  for (std::size_t position = 0; position < rank_at_.size(); ++position) {
    const int rank = rank_at_[position];
    if (rank == rank_) view_.position = static_cast<int>(position);
  }
  std::sort(first.begin(), first.end());
  shape_ = {static_cast<int>(peers_.size()), static_cast<int>(std::unique(first.begin(), first.end()) - first.begin())};
}

std::vector<Peer*> Team::would_need(const Plan& plan) const {
  if (within_node_) return {};
  std::vector<int> ranks;
  for (const int position : neighbours(view_.size, view_.position, plan.meshes(view_.size)))
    ranks.push_back(rank_at_[static_cast<std::size_t>(position)]);
  if (plan.shared_memory && shares_nodes()) {
    const RanksByNode nodes = by_node(plan);
    const auto [own, all] = Hierarchy::counterparts(nodes, rank_);
    for (const int node : all.empty() ? std::vector<int>() : neighbours(shape_.nodes, own, plan.meshes(shape_.nodes)))
      ranks.push_back(all[static_cast<std::size_t>(node)]);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<Peer*> peers;
  for (const int rank : ranks) peers.push_back(&peer(rank));
  return peers;
}

void Team::link(const Plan& plan, const Links::Need& need) {
  if (within_node_) return;
  std::vector<Peer*> ordered;
  for (const int rank : rank_at_) ordered.push_back(peers_[static_cast<std::size_t>(rank)]);
  Links links(ordered, view_.position, plan.meshes(view_.size), need);
  Reach reach = this->reach(links, hierarchy_.get());
  operations_.note_neighbours(links.peers().size());
  links_ = std::move(links);  // no exception from here on: votes tell of all of it
  links_.fill(view_);
  reach_ = std::move(reach);
}

Team::Reach Team::reach(const Links& links, const Hierarchy* hierarchy) const {
  Reach reach;
  for (const int position : links.positions()) reach.needed.push_back(rank_at_[static_cast<std::size_t>(position)]);
  if (hierarchy != nullptr)
    for (const int node : hierarchy->view().neighbours)
      reach.needed.push_back(hierarchy->counterpart(node));
  std::sort(reach.needed.begin(), reach.needed.end());
  reach.needed.erase(std::unique(reach.needed.begin(), reach.needed.end()), reach.needed.end());
  reach.watched = reach.needed;
  if (hierarchy != nullptr)
    for (const int mate : hierarchy->mates())
      if (mate != rank_ && !std::binary_search(reach.needed.begin(), reach.needed.end(), mate)) reach.watched.push_back(mate);
  return reach;
}

void Team::lanes_changed(bool lost) {
  for (Table& each : tables_) {
    each.ask_for_retrial();
    if (lost) each.ask_to_exclude_incumbent();
  }
}

/// There are several, and some have several ranks; or there is nothing else.
bool Team::shares_nodes() const { return within_node_ || (shape_.nodes > 1 && shape_.nodes < shape_.ranks); }

/// Whom a launcher binds where may differ from run to run, and with it the order of sums: a named algorithm gives the same bits.
RanksByNode Team::by_node(const Plan& plan) const {
  const bool own_order = within_node_ || plan.reproducible || plan.algorithm != AlgorithmChoice::automatic;
  std::vector<std::vector<NearRank>> nodes;
  const std::string* last = nullptr;
  for (const int rank : rank_at_) {  // nodes are neighbours in the ring
    const Peer* peer = peers_[static_cast<std::size_t>(rank)];
    const std::string& node = peer == nullptr || within_node_ ? own_node_ : peer->address.node;
    if (last == nullptr || *last != node) nodes.emplace_back();
    const RailSet near = own_order ? 0 : peer == nullptr ? own_near_ : peer->address.near;
    nodes.back().push_back({rank, near});
    last = &node;
  }
  RanksByNode ordered;
  for (const auto& ranks : nodes) ordered.push_back(carrying_order(ranks));
  return ordered;
}

void Team::make_hierarchy(NodeAcceptor* acceptor, Nanoseconds deadline, const Clock& clock, const Links::Need& need,
                          const SharingOptions& sharing) {
  RanksByNode nodes = by_node(plan_);
  const bool all = plan_.meshes(static_cast<int>(nodes.size()));
  auto hierarchy = std::make_unique<Hierarchy>(
      Hierarchy::Spec{id_, rank_, std::move(nodes), peers_, view_.buffers, deadline, &clock, all, need, sharing}, acceptor);
  reach_ = reach(links_, hierarchy.get());
  hierarchy_ = std::move(hierarchy);
}

bool Team::awaits_by_lanes(int rank) const {
  if (rank == rank_) return false;
  const bool sums = (stars_ && stars_->under_way()) || (small_ && small_->under_way());  // they need something of everybody
  if (sums && !hierarchy_) return true;
  const Trunk* trunk = peer(rank).trunk.get();
  const int number = trunk == nullptr ? -1 : links_.number_of(*trunk);
  if (number >= 0 && operations_.awaits(static_cast<std::size_t>(number))) return true;
  return sums && trunk != nullptr && hierarchy_->links().number_of(*trunk) >= 0;
}

bool Team::awaits(int rank) const { return awaits_by_lanes(rank) || (hierarchy_ && hierarchy_->awaits(rank)); }

std::optional<Nanoseconds> Team::quiet_in_memory(int rank, Nanoseconds now) const {
  if (!hierarchy_ || awaits_by_lanes(rank)) return std::nullopt;
  return hierarchy_->quiet(rank, now);
}

Candidate Team::flat(const Candidate& way, Collective collective, std::size_t bytes, std::size_t element) const {
  const bool among_nodes = hierarchy_ && hierarchy_->carries(collective);  // else the choice was for all ranks
  if (!among_nodes || !needs_all_lanes(way.algorithm) || plan_.meshes(view_.size)) return way;
  if (collective != Collective::allreduce) return {sibling_choice(plan_, collective, bytes, element, view_.size)};
  return {plan_.choose(bytes, element, view_.size)};
}

Stars* Team::stars_beside(AlgorithmChoice choice, nezha_op_t op, std::size_t bytes) {
  if (!stars_ || hierarchy_ || !Stars::suits(choice, op)) return nullptr;
  return stars_->wanted(bytes) ? &*stars_ : nullptr;
}

/// By what all ranks see alike: the parts of carriers differ by an element.
bool Team::set_share(Call& call, AlgorithmChoice choice) {
  if (!shares_ || call.collective != Collective::allreduce || !Stars::suits(choice, call.star.op)) return false;
  const std::size_t bytes = call.bytes(), part = call.count / hierarchy_->carriers(call) * call.element;
  if (part < Stars::least(plan_.chunk) || !shares_->wanted(bytes)) return false;
  call.star.share = shares_->share(bytes);
  return true;
}

void Team::fail(const std::string& why, const Failure& failure) {
  error_ = why;
  doubt_.reset();
  if (hierarchy_) hierarchy_->fail(failure);
  if (stars_) stars_->each([](Star& star) { star.give_up("the communicator has failed"); });
  if (small_) small_->fail(failure);
  if (!within_node_) operations_.fail(failure);
}

int Team::number_of(const Trunk& trunk) const {
  const int number = links_.number_of(trunk);
  return number >= 0 || !hierarchy_ ? number : hierarchy_->links().number_of(trunk);
}

Team::Place Team::place_beside(const Trunk& trunk, TeamId id) {
  if (small_ && id == small_->id()) return {&small_->operations(), &view_, links_.number_of(trunk)};
  if (Star* const star = stars_ ? stars_->find(id) : nullptr) {
    if (&trunk != star->trunk()) return {};
    star->moved();
    return {&star->operations(), &star->view(), 0};
  }
  if (!hierarchy_ || !hierarchy_->has(id)) return {};
  return {hierarchy_->operations(id), &hierarchy_->view(), hierarchy_->links().number_of(trunk)};
}

bool Team::has_begun(TeamId id, OpNumber op) const {
  if (id == id_) return operations_.has_begun(op);
  if (small_ && id == small_->id()) return small_->operations().has_begun(op);
  if (const Star* const star = stars_ ? stars_->find(id) : nullptr) return star->operations().has_begun(op);
  const Operations* const between = hierarchy_ && hierarchy_->has(id) ? hierarchy_->operations(id) : nullptr;
  return between != nullptr && between->has_begun(op);
}

Placement Team::place(const Trunk& trunk, const PieceHeader& piece) {
  const Place place = place_of(trunk, piece.team);
  if (place.number < 0) return {PlaceKind::bad};
  if ((doubt_ || !error_.empty()) && place.operations->has_begun(piece.op)) return {PlaceKind::bin};
  return place.operations->place(place.from(), piece);
}

void Team::arriving(const Trunk& trunk, const PieceHeader& piece) {
  const Place place = place_of(trunk, piece.team);
  if (Operation* operation = place.operations->find(piece.op)) operation->algorithm().arriving(place.position(), piece);
}

bool Team::arrived(const Trunk& trunk, const PieceHeader& piece, const std::byte* data) {
  const Place place = place_of(trunk, piece.team);
  Operation* operation = doubt_ || place.operations == nullptr ? nullptr : place.operations->find(piece.op);
  return operation == nullptr || operation->algorithm().arrived(place.position(), piece, data);
}

void Team::differs(const Trunk& trunk, const PieceHeader& piece) {
  const auto sends = [&](int rank) { return peers_[static_cast<std::size_t>(rank)]->trunk.get() == &trunk; };
  const int from = *std::find_if(needed().begin(), needed().end(), sends);
  const Place place = place_of(trunk, piece.team);
  const std::uint64_t expected = place.operations == nullptr ? 0 : place.operations->bytes_of(piece.op);
  const Failure failure{Failure::Why::differs, static_cast<std::uint32_t>(rank_), static_cast<std::uint32_t>(from),
                        expected, piece.whole};
  if (!doubt_) doubt_.emplace(Doubt{failure, piece, {}});
}

void Team::broke(std::exception_ptr exception) {
  const auto rank = static_cast<std::uint32_t>(rank_);
  if (!doubt_) doubt_.emplace(Doubt{{Failure::Why::broken, rank, rank}, {}, std::move(exception)});
}

}  // namespace nezha
