// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.h"

#include <array>
#include <numeric>
#include <utility>

namespace nezha::test {
namespace {

Setting setting_of(const Scenario& scenario) {
  Setting setting;
  setting.seed = scenario.seed;
  setting.random = SimRandom(scenario.seed);
  setting.shape.ranks = scenario.ranks;
  setting.network.send_buffer = setting.network.receive_buffer = 1024 * 1024;
  setting.network.notice_max = 2 * kMillisecond;
  setting.config.algorithm = scenario.algorithm;
  setting.config.timeout = scenario.timeout;
  setting.config.learn = scenario.learn;
  setting.config.mesh_block = scenario.bytes;
  setting.rails = scenario.keeps_to;
  setting.longest_thought = scenario.thought;
  setting.loopbacks = scenario.per_node > 1;
  setting.queues.patience = kSecond;
  for (int rank = 0; rank < scenario.ranks; ++rank) {
    setting.nodes.push_back("n" + std::to_string(rank / scenario.per_node));
    setting.windows.push_back(256 * 1024);
    setting.clocks.push_back(rank * kSecond);
    setting.late.emplace_back(scenario.rails, 0);
    std::vector<SimPortOptions>& ports = setting.ports.emplace_back();
    for (std::size_t i = 0; i < scenario.rails; ++i) {
      SimPortOptions port;
      port.name = "sim" + std::to_string(i);
      port.network = static_cast<std::uint8_t>(i);
      port.queues = scenario.rdma && i + 1 == scenario.rails;
      if (i == 0 && scenario.first_delay > 0) port.delay = scenario.first_delay;
      port.rate = i + 1 == scenario.rails && scenario.last_rate > 0 ? scenario.last_rate : scenario.rate;
      ports.push_back(port);
    }
  }
  return setting;
}

Program program_of(const Scenario& scenario) {
  Program program;
  TeamSpec& team = program.teams.emplace_back();
  team.name = "team";
  team.members.resize(static_cast<std::size_t>(scenario.ranks));
  std::iota(team.members.begin(), team.members.end(), 0);
  for (std::size_t i = 0; i < scenario.calls; ++i) {
    CallSpec& call = program.calls.emplace_back();
    call.count = i < scenario.small_calls ? 1 : scenario.bytes / call.element;
    call.in_place = scenario.in_place;
    call.hostile = true;
    call.seed = scenario.seed + i;
  }
  return program;
}

}  // namespace

Story play(const Scenario& scenario, std::vector<Happening> happenings) {
  World world(setting_of(scenario), program_of(scenario), 0, scenario.talks);
  world.on_call = [&](std::size_t call) {
    for (const Happening& happening : happenings)
      if (happening.call == call)
        world.network().after(happening.after, [&] {
          if (!world.over()) happening.what(world);
        });
  };
  world.on_call(kBeforeAllCalls);
  Story story;
  Tally tally;
  story.failure = world.run(tally);
  story.lanes_lost = tally.lanes_lost;
  story.suspicions = tally.suspicions;
  story.failed = tally.failed;
  for (int rank = 0; rank < scenario.ranks; ++rank) {
    std::array<std::uint64_t, kMaxRails> sent{};
    if (world.process(rank).alive()) sent = world.process(rank).core().sent();
    story.sent.push_back(std::accumulate(sent.begin(), sent.end(), std::uint64_t{0}));
  }
  for (const World::Times& times : world.times()) {
    story.took.push_back(times.ended - times.began);
    story.ended.push_back(times.ended);
  }
  return story;
}

}  // namespace nezha::test
