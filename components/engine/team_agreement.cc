// SPDX-License-Identifier: BSD-3-Clause
/// What the members of a team tell one another: before it is ready by words that the incumbent combines, later by operations
/// of the team.
#include <algorithm>
#include <utility>

#include "engine/combine.h"
#include "engine/sampling.h"
#include "engine/team.h"
#include "trunk/wire.h"
#include "tuning/siblings.h"

namespace nezha {
namespace {

// Words of the agreement. Flags and masks add up by OR; rank 0's words are zero on all others.
enum Word : std::size_t { kFlags, kVersion, kNotVersion, kTeamId, kRate, kBestRail, kPlan };
static_assert(kPlan + Plan::kWords <= NEZHA_VOTE_WORDS);
constexpr std::uint64_t kNotReady = 1;
constexpr std::uint64_t kFailed = 2;
constexpr std::uint64_t kAwaitLanes = 4;    ///< rank 0 only
constexpr std::uint64_t kKnows = 8;         ///< rank 0 only: rows follow
constexpr std::uint64_t kRails = 16;        ///< rank 0 only: it chooses among several lanes to the next rank
constexpr std::uint64_t kOnRails = 32;      ///< rank 0 only: the incumbent has no network but the rails
constexpr std::uint64_t kNotShared = 64;    ///< the ranks of this node cannot share memory
constexpr std::uint64_t kToAll = 128;       ///< it has lanes to all others, or is getting them
constexpr std::uint64_t kToSome = 256;      ///< to neighbours only
constexpr std::uint64_t kUnsampled = 512;   ///< its lanes to next_peer() have still to be sampled
constexpr double kRateUnit = 1e9;           ///< rates travel as bytes per second

static_assert(kRows * sizeof(std::uint64_t) <= kMostCopied);

/// What ids of stars differ by from place to place on a node.
constexpr TeamId kOfPlace = 0xc2b2ae3d27d4eb4f;

/// A call of this size can pay for an agreement of its own.
constexpr std::size_t kLargeCall = 256 * 1024;

std::uint64_t to_word(double rate) { return static_cast<std::uint64_t>(rate * kRateUnit); }
double from_word(std::uint64_t word) { return static_cast<double>(word) / kRateUnit; }

/// True when all ranks put the same value into a pair of words (the value and its complement).
bool unanimous(std::uint64_t values, std::uint64_t complements) { return (values & complements) == 0; }

/// What carries them over the rails instead has the same order of sums, and is what the user may want.
bool small_calls_suit(const Plan& plan, int size) {
  const AlgorithmChoice fixed = plan.algorithm;
  return plan.meshes(size) && (fixed == AlgorithmChoice::automatic || fixed == AlgorithmChoice::ring ||
                               fixed == AlgorithmChoice::mesh || fixed == AlgorithmChoice::single_step);
}

}  // namespace

/// Calls 1 to 8, then ever rarer, and every large one: a function of what all ranks see alike.
bool Team::agreement_due(std::size_t bytes) {
  ++asked_;
  foresee(bytes);
  if (asked_ < next_agreement_ && bytes < kLargeCall) return false;
  if (asked_ >= next_agreement_) next_agreement_ = asked_ + std::max<std::size_t>(1, asked_ / 8);
  return true;
}

void Team::vote(std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words, const Plan& own, TeamId fresh_id, bool ready,
                bool failed) const {
  words.fill(0);
  const bool shared = !hierarchy_wanted_ || (hierarchy_ != nullptr && hierarchy_->trouble().ok());
  words[kFlags] = (ready ? 0 : kNotReady) | (failed ? kFailed : 0) | (shared ? 0 : kNotShared) |
                  (links_.all() ? kToAll : kToSome) | (sampled() ? 0 : kUnsampled);
  words[kVersion] = kWireVersion;
  words[kNotVersion] = ~words[kVersion];
  if (rank_ != 0) return;
  if (own.pins_bits()) words[kFlags] |= kAwaitLanes;
  if (!rows_.empty()) words[kFlags] |= kKnows;
  if (const Trunk* next = ring_next().trunk.get(); !within_node_ && next != nullptr && next->lanes_up() > 1 && !next->shares_fixed())
    words[kFlags] |= kRails;
  if (incumbent_on_rails) words[kFlags] |= kOnRails;
  words[kTeamId] = id_ != 0 ? id_ : fresh_id;
  words[kRate] = to_word(rate());
  words[kBestRail] = to_word(best_rail());
  own.encode(std::span(words).subspan<kPlan, Plan::kWords>());
}

void Team::vote_no(std::span<std::uint64_t, NEZHA_VOTE_WORDS> words) {
  std::fill(words.begin(), words.end(), 0);
  words[kFlags] = kFailed;
}

nezha_team_state_t Team::decide(const std::array<std::uint64_t, NEZHA_VOTE_WORDS>& words, const Plan& own,
                                Notices& notices) {
  if (state_ != NEZHA_TEAM_WIRING) return state_;
  const bool same_version = unanimous(words[kVersion], words[kNotVersion]);
  if ((words[kFlags] & kFailed) != 0 || !same_version) return decline();
  votes_again_ = (words[kFlags] & kAwaitLanes) != 0 && !awaits_lanes_;
  awaits_lanes_ = awaits_lanes_ || votes_again_;
  plan_ = Plan::decode(std::span(words).subspan<kPlan, Plan::kWords>());
  if (within_node_ && !plan_.shared_memory) return decline();
  if (shares_nodes() && plan_.shared_memory &&
      !hierarchy_wanted_) {  // an agreement more, since memory is shared by the id
    id_ = words[kTeamId];
    hierarchy_wanted_ = id_ != 0;
    return state_;
  }
  const bool differ = (words[kFlags] & kToAll) != 0 && (words[kFlags] & kToSome) != 0;
  if ((words[kFlags] & kNotReady) != 0 || differ) return state_;
  const bool sampled = (words[kFlags] & kUnsampled) == 0;
  if (awaits_lanes_ && !sampled) return state_;
  id_ = words[kTeamId];
  if (id_ == 0) return decline();
  if ((words[kFlags] & kNotShared) != 0) hierarchy_.reset();
  if (within_node_ && !hierarchy_) return decline();
  operations_.set_team(id_);
  state_ = NEZHA_TEAM_READY;  // as on all ranks: an exception from here on is an error of the ready team
  reach_ = reach(links_, hierarchy_.get());
  if (plan_ != own) notices.push_back(differing(differences(own, plan_)));
  Terms terms{plan_, view_.size, from_word(words[kRate]), (words[kFlags] & kRails) != 0};
  if (hierarchy_) {
    terms.nodes = hierarchy_->nodes();
    terms.carriers = hierarchy_->most_carriers();
    terms.least_part = hierarchy_->sharing().least_part;
  }
  terms.best_rail = from_word(words[kBestRail]);
  lacks_rates_ = !sampled;
  terms.alone = shape_.nodes == shape_.ranks;
  terms.incumbent_on_rails = (words[kFlags] & kOnRails) != 0;
  if (plan_.aggregators && plan_.aggregator_share.per_cent != 0) make_stars();
  if (stars_ && !hierarchy_ && small_calls_suit(plan_, view_.size)) small_.emplace(id_, view_);
  begin_tables(terms);
  rows_due_ = (words[kFlags] & kKnows) != 0;
  rows_.resize(rows_due_ ? kRows : 0, 0);
  return state_;
}

/// Where ranks of a node share memory, counterparts have aggregators to themselves.
void Team::make_stars() {
  if (hierarchy_ && hierarchy_->nodes() > 1) shares_.emplace(plan_.aggregator_share);
  if (hierarchy_ && !hierarchy_->carries()) return;
  const TeamView& among = hierarchy_ ? hierarchy_->view() : view_;
  const TeamId own = hierarchy_ ? id_ ^ kOfPlace * (hierarchy_->place() + 1) : id_;
  stars_.emplace(own, among.size, among.position, plan_.aggregator_share, plan_.chunk, *among.buffers,
                 hierarchy_ ? hierarchy_->most_carriers() : 1);
}

/// What its nodes share is let go.
nezha_team_state_t Team::decline() {
  hierarchy_.reset();
  return state_ = NEZHA_TEAM_DECLINED;
}

/// Some collectives go from rank to rank, also where ranks of a node share memory.
void Team::begin_tables(const Terms& terms) {
  for (std::size_t i = 0; i < kTables; ++i) {
    Terms own = terms;
    own.collective = static_cast<Collective>(i);
    if (hierarchy_ && !hierarchy_->carries(own.collective)) own.nodes = 0;
    tables_[i].begin(own);
  }
}

Notice Team::differing(std::string which) const {
  const Peer* first = peers_.front();
  return {
      "parameters differ",
      {name_, std::to_string(rank_), own_node_, first != nullptr ? first->address.node : own_node_, std::move(which)}};
}

/// What the rails towards the next member carry together, as far as it is known.
double Team::rate() const {
  if (hierarchy_) return hierarchy_->rate();
  return next_peer().trunk == nullptr ? 0 : next_peer().trunk->rate();
}

double Team::best_rail() const {
  if (hierarchy_) return hierarchy_->best_rate();
  return next_peer().trunk == nullptr ? 0 : next_peer().trunk->best_rate();
}

/// A lane may come or go while nothing wants the sample: whether it is needed is asked each time.
bool Team::sampled() const {
  if (within_node_ || next_peer().sample == Sample::done) return true;
  return next_peer().sample == Sample::none && next_peer().trunk != nullptr && needs_no_sample(next_peer());
}

/// Also one that was lost before there was this team.
bool Team::lacks_lane() const {
  return std::any_of(needed().begin(), needed().end(), [this](int rank) { return peer(rank).lacks_lane(); });
}

bool Team::must_agree(Collective collective, std::size_t bytes, std::size_t element) {
  if (rows_due_ || rates_due(collective, bytes, element) || table(collective).agreement_due(bytes, element)) return true;
  unsampled_.passes(bytes);
  return false;
}

Call Team::agreement(Collective collective, std::size_t bytes, std::size_t element) {
  if (rows_due_) return combine(rows_, NEZHA_BOR);
  if (rates_due(collective, bytes, element)) {
    rate_words_.fill(0);
    rate_words_[0] = sampled() ? 0 : kUnsampled;
    if (rank_ == 0) rate_words_[1] = to_word(rate()), rate_words_[2] = to_word(best_rail());
    return combine(rate_words_, NEZHA_BOR);
  }
  Table& table = this->table(collective);
  if (lacks_lane()) table.ask_to_exclude_incumbent();
  return combine(table.words(), table.adds() ? NEZHA_SUM : NEZHA_MIN);
}

void Team::take_rates() {
  lacks_rates_ = rate_words_[0] != 0;
  if (lacks_rates_) return;
  for (Table& each : tables_) each.learn_rates(from_word(rate_words_[1]), from_word(rate_words_[2]));
}

std::vector<std::uint64_t> Team::take_rows(Table::Recalled& recalled) {
  rows_due_ = false;
  recalled = table().recall(rows_);
  return std::exchange(rows_, {});
}

}  // namespace nezha
