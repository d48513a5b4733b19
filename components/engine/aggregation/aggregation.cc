// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/aggregation.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

#include "rail/tcp/socket.h"

namespace nezha {
namespace {

constexpr Nanoseconds kGreetingTime = 3 * kSecond;
constexpr std::size_t kMostGreetings = 256;
constexpr Nanoseconds kLookEvery = 100 * kMillisecond;
/// A client whose lanes are all gone for so long has ended, or greets anew.
constexpr Nanoseconds kGoneAfter = 2 * kSecond;
/// One that has never had a lane.
constexpr Nanoseconds kNeverCame = 30 * kSecond;

/// It says what its operation is: alone, or before the contribution to a small vector.
bool describes(const PieceHeader& piece) {
  return piece.step == kStarDescription || piece.step == kStarWhole;
}

bool well_formed(const PieceHeader& piece) {
  if (piece.offset != 0) return false;
  if (piece.step == kStarDescription) return piece.length == kStarDescriptionSize;
  return piece.length > kStarDescriptionSize && piece.length <= kStarDescriptionSize + kLargestWhole;
}

}  // namespace

struct Aggregation::Star {
  TeamId id = 0;
  std::vector<Trunk*> trunks;           ///< by position, null: it has not joined
  std::vector<int> neighbours, numbers;  ///< members, whose positions are their numbers, and this process behind them
  TeamView view;
  std::unique_ptr<Operations> operations;
  StarDescription description;
  std::vector<bool> described;  ///< by position: the next operation
  std::size_t descriptions = 0;
  OpNumber begun = 0;
  bool under_way = false;
  std::vector<std::byte> contributions;       ///< to the small vector under way, by position
  std::vector<std::byte> next_contributions;  ///< to the next one
  std::uint64_t memory = 0;
  std::uint64_t next_memory = 0;  ///< of the next operation, if that is of a small vector
  std::uint64_t bytes = 0;

  int position_of(const Trunk& trunk) const {
    const auto found = std::find(trunks.begin(), trunks.end(), &trunk);
    return found == trunks.end() ? -1 : static_cast<int>(found - trunks.begin());
  }
};

Aggregation::Aggregation(Core& core, const Secret& key, const Limits& limits)
    : core_(core), key_(key), limits_(limits) {
  core.serve(*this);
}

Aggregation::~Aggregation() = default;

Status Aggregation::listen(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string where = (host.empty() ? "*" : host) + ":" + std::to_string(port);
  if (const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
      error != 0)
    return {Code::bad_parameter, "cannot listen at " + where + ": " + gai_strerror(error)};
  const int on = 1;
  listener_ = Fd(socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool good = listener_ && setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                    bind(listener_.get(), found->ai_addr, found->ai_addrlen) == 0 && ::listen(listener_.get(), 64) == 0;
  const int error = errno;
  freeaddrinfo(found);
  if (!good) return {Code::io, "cannot listen at " + where + ": " + std::strerror(error)};
  SocketAddress bound;
  getsockname(listener_.get(), bound.get(), &bound.size);
  port_ = bound.port();
  return {};
}

// ---- who may join

void Aggregation::accept_greetings(Nanoseconds now) {
  for (;;) {
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return;
    if (greetings_.size() >= kMostGreetings) greetings_.erase(greetings_.begin());
    greetings_.push_back(std::make_unique<Greeting>(Greeting::Side::aggregator, std::move(fd), key_, core_.self(),
                                                    now + kGreetingTime));
  }
}

void Aggregation::step_greetings(Nanoseconds now) {
  std::erase_if(greetings_, [&](const std::unique_ptr<Greeting>& greeting) {
    switch (greeting->step(now)) {
      case Greeting::State::pending:
        return false;
      case Greeting::State::failed:
        ++counts_.refused;
        core_.log().line(1, "a greeting is refused: %s", greeting->why().text().c_str());
        return true;
      case Greeting::State::done:
        if (greeting->peer().rails.empty())
          core_.log().line(2, "somebody on %s asks", greeting->peer().node.c_str());
        else
          admit(greeting->peer(), greeting->secret(), now);
        return true;
    }
    return true;
  });
}

bool Aggregation::admit(const Address& client, const Secret& secret, Nanoseconds now) {
  drop_client(client.id, "it has greeted anew");
  if (clients_.size() >= limits_.clients) {
    ++counts_.refused;
    core_.log().line(1, "a greeting is refused: there are %zu clients", clients_.size());
    return false;
  }
  Peer* const peer = core_.add_outsider(client, secret);
  if (peer == nullptr) return false;
  clients_[client.id] = {peer, now + kNeverCame - kGoneAfter};
  core_.log().line(2, "%s has come", peer->label().c_str());
  return true;
}

void Aggregation::drop_client(ProcessId id, const std::string& why) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Peer& peer = *found->second.peer;
  core_.log().line(2, "%s has gone: %s", peer.label().c_str(), why.c_str());
  std::vector<TeamId> of;
  for (const auto& [team, star] : stars_)
    if (star->position_of(*peer.trunk) >= 0) of.push_back(team);
  for (const TeamId team : of) give_up(team, peer.label() + " has gone");
  clients_.erase(found);
  core_.remove_outsider(peer);
}

// ---- stars

Aggregation::Star* Aggregation::find(TeamId id) const {
  const auto found = stars_.find(id);
  return found == stars_.end() ? nullptr : found->second.get();
}

Placement Aggregation::place(Trunk& trunk, const PieceHeader& piece) {
  Star* const star = find(piece.team);
  const int position = star == nullptr ? -1 : star->position_of(trunk);
  const bool next = star == nullptr || piece.op > star->begun;
  if (describes(piece) && next) return {well_formed(piece) ? PlaceKind::scratch : PlaceKind::bad};
  if (position < 0) return {PlaceKind::early};
  return star->operations->place(static_cast<std::size_t>(position), piece);
}

bool Aggregation::arrived(Trunk& trunk, const PieceHeader& piece, const std::byte* data) {
  Star* const star = find(piece.team);
  const bool next = star == nullptr || piece.op > star->begun;
  if (describes(piece) && next) {
    said_.push_back({trunk.peer(), piece.team, piece.op, {data, data + piece.length}});
    return true;
  }
  if (describes(piece)) return over_.emplace_back(piece.team, "a member describes an operation twice"), true;
  const int position = star == nullptr ? -1 : star->position_of(trunk);
  Operation* const operation = position < 0 ? nullptr : star->operations->find(piece.op);
  if (operation == nullptr || operation->algorithm().arrived(position, piece, data)) return true;
  over_.emplace_back(piece.team, "a member sends what it cannot have");
  return true;
}

bool Aggregation::has_begun(TeamId id, OpNumber op) {
  const Star* const star = find(id);
  return star != nullptr && star->operations->has_begun(op);
}

void Aggregation::peer_at(Trunk& trunk, TeamId id, OpNumber begun, OpNumber ended) {
  Star* const star = find(id);
  const int position = star == nullptr ? -1 : star->position_of(trunk);
  if (position >= 0) star->operations->peer_at(static_cast<std::size_t>(position), begun, ended);
}

/// In the middle of a frame.
void Aggregation::failed(TeamId id) { over_.emplace_back(id, "a member has left it"); }

void Aggregation::hear(const Said& said) {
  const auto client = clients_.find(said.by);
  if (client == clients_.end()) return;
  Trunk& trunk = *client->second.peer->trunk;
  const Status status = join(said, trunk);
  if (status.ok()) return;
  core_.log().line(1, "%s: %s", client->second.peer->label().c_str(), status.text().c_str());
  if (const Star* star = find(said.team); star != nullptr && star->position_of(trunk) >= 0)
    return give_up(said.team, status.text());
  trunk.tell_failed(said.team, 0, {});  // who is no member cannot end it
  trunk.forget_team(said.team);
}

Status Aggregation::join(const Said& said, Trunk& trunk) {
  StarDescription description;
  const std::span<const std::byte> bytes = said.bytes, contribution = bytes.subspan(kStarDescriptionSize);
  if (Status status = read_description(bytes.first(kStarDescriptionSize), description); !status.ok()) return status;
  if (contribution.size() != (description.terms.whole ? description.bytes() : 0))
    return {Code::bad_wire, "a contribution of " + std::to_string(contribution.size()) + " bytes"};
  const auto position = description.terms.position;
  Star* star = find(said.team);
  if (star == nullptr) {
    const auto in = std::count_if(stars_.begin(), stars_.end(),
                                  [&](const auto& other) { return other.second->position_of(trunk) >= 0; });
    if (static_cast<std::size_t>(in) >= limits_.stars) return {Code::busy, "it is in too many communicators"};
    auto fresh = std::make_unique<Star>();
    fresh->id = said.team;
    fresh->trunks.assign(description.terms.members, nullptr);
    fresh->neighbours.resize(description.terms.members);
    std::iota(fresh->neighbours.begin(), fresh->neighbours.end(), 0);
    fresh->numbers = fresh->neighbours;
    fresh->numbers.push_back(-1);
    fresh->view.size = static_cast<int>(description.terms.members) + 1;
    fresh->view.position = static_cast<int>(description.terms.members);
    fresh->view.trunks = fresh->trunks;
    fresh->view.neighbours = fresh->neighbours;
    fresh->view.numbers = fresh->numbers;
    fresh->view.buffers = &core_.buffer_pool();
    fresh->operations = std::make_unique<Operations>(fresh->view, 0);
    fresh->operations->set_team(said.team);
    fresh->described.assign(description.terms.members, false);
    star = (stars_[said.team] = std::move(fresh)).get();
  }
  if (description.terms.members != star->trunks.size()) return {Code::bad_peer, "members differ on how many they are"};
  Trunk*& place = star->trunks[position];
  if (place == nullptr && star->position_of(trunk) < 0) place = &trunk;
  if (place != &trunk) return {Code::bad_peer, "two members say that they are the same one"};
  if (said.op != star->begun + 1) return {Code::bad_peer, "an operation comes out of turn"};
  if (star->descriptions != 0 && !star->description.agrees(description))
    return {Code::bad_peer, "members differ on an operation"};
  if (star->described[position]) return {Code::bad_peer, "a member describes an operation twice"};
  if (Status status = keep(*star, description, contribution); !status.ok()) return status;
  star->description = description;
  star->described[position] = true;
  ++star->descriptions;
  return {};
}

/// The contribution to a small vector, of which this member is the first or agrees with the first.
Status Aggregation::keep(Star& star, const StarDescription& description, std::span<const std::byte> contribution) {
  if (!description.terms.whole) return {};
  if (star.descriptions == 0) {
    if (!reserve(star, description.memory())) return {Code::busy, "there is no memory for it"};
    star.next_memory = description.memory();
    star.next_contributions.resize(star.next_memory);
  }
  std::copy(contribution.begin(), contribution.end(),
            star.next_contributions.begin() + static_cast<std::ptrdiff_t>(description.terms.position * contribution.size()));
  return {};
}

bool Aggregation::reserve(Star& star, std::uint64_t memory) {
  const std::uint64_t of_star = star.memory + star.next_memory + memory;
  if (of_star > limits_.star || memory_ + memory > limits_.memory) return false;
  memory_ += memory;
  return true;
}

/// The next operation, if all members have described it. That may be heard before the last one has ended here: their words
/// that they have all its sums can be behind.
void Aggregation::begin(Star& star) {
  if (star.under_way || star.descriptions != star.described.size()) return;
  const StarDescription& what = star.description;
  star.described.assign(star.described.size(), false);
  star.descriptions = 0;
  if (!what.terms.whole && !reserve(star, what.memory()))
    return over_.emplace_back(star.id, "there is no memory for it"), void();
  Call call;
  call.count = what.count;
  call.element = element_size(what.terms.type);
  call.chunk = what.chunk;
  call.part = what.part;
  call.star = what.terms;
  call.reducer = {find_kernel(what.terms.type, what.terms.op), nullptr, nullptr, nullptr, call.element};
  star.begun += 1;
  star.under_way = true;
  star.memory = what.memory();
  star.next_memory = 0;
  star.contributions.swap(star.next_contributions);
  call.recv = star.contributions.data();
  star.bytes = what.terms.whole ? call.bytes() : call.bytes() / BlockPart::kWhole * (what.part.to - what.part.from);
  ++under_way_;
  for (std::size_t member = 0; member < star.trunks.size(); ++member)
    star.operations->peer_at(member, star.begun, star.begun - 1);  // who describes an operation has begun it
  star.operations->start(call, AlgorithmChoice::ring);
}

void Aggregation::end(Star& star) {
  star.under_way = false;
  memory_ -= std::exchange(star.memory, 0);
  --under_way_;
  star.contributions = {};
  ++counts_.operations;
  counts_.bytes += star.bytes;
}

void Aggregation::give_up(TeamId id, const std::string& why) {
  const auto found = stars_.find(id);
  if (found == stars_.end()) return;
  Star& star = *found->second;
  core_.log().line(2, "a communicator of %zu ranks is given up: %s", star.described.size(), why.c_str());
  star.operations->fail({Failure::Why::gone, 0, 0});
  for (Trunk* trunk : star.trunks)
    if (trunk != nullptr) trunk->forget_team(id);
  memory_ -= star.memory + star.next_memory;
  if (star.under_way) --under_way_;
  ++counts_.given_up;
  stars_.erase(found);
}

void Aggregation::progress(Nanoseconds now) {
  accept_greetings(now);
  step_greetings(now);
  for (const Said& said : std::exchange(said_, {})) hear(said);
  for (const auto& [id, star] : stars_) {
    if (star->under_way && star->operations->finished()) end(*star);
    begin(*star);
  }
  for (const auto& [id, why] : std::exchange(over_, {})) give_up(id, why);
  if (now - looked_ >= kLookEvery) look_after(now);
}

void Aggregation::look_after(Nanoseconds now) {
  looked_ = now;
  std::vector<ProcessId> gone;
  for (auto& [id, client] : clients_) {
    if (client.peer->trunk->lanes_up() != 0) client.seen = now;
    if (now - client.seen > kGoneAfter) gone.push_back(id);
  }
  for (const ProcessId id : gone) drop_client(id, "no lane to it is left");
}

}  // namespace nezha
