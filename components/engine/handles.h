// SPDX-License-Identifier: BSD-3-Clause
/// The C handles: nezha_engine_t is an Engine, nezha_team_t a Team with its engine, nezha_peer_t a Peer,
/// nezha_request_t a Request.
#pragma once

#include "engine/engine.h"

struct nezha_engine {
  nezha::Engine engine;
};

struct nezha_team {
  nezha::Engine& engine;
  nezha::Team& team;
};
