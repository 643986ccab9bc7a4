// A call of OpenSpiel's alpha-beta on connect four, for tests/engine/search_peers.py. It is compiled
// against the headers of OpenSpiel's sources and runs the library in OpenSpiel's Python package.

#include <memory>

#include "open_spiel/algorithms/minimax.h"
#include "open_spiel/spiel.h"

// Searches the position after these columns, 0 to 6, to a depth, with an evaluation of 0. Returns the
// value for the side to move, and stores the number of leaves at the horizon.
extern "C" double open_spiel_alpha_beta(const char* columns, int depth, long* leaves) {
  static const std::shared_ptr<const open_spiel::Game> game = open_spiel::LoadGame("connect_four");
  const std::unique_ptr<open_spiel::State> state = game->NewInitialState();
  for (; *columns != 0; ++columns) state->ApplyAction(*columns - '0');
  *leaves = 0;
  const auto evaluate = [leaves](const open_spiel::State&) { return ++*leaves, 0.0; };
  return open_spiel::algorithms::AlphaBetaSearch(*game, state.get(), evaluate, depth,
                                                 open_spiel::kInvalidPlayer, /*use_undo=*/false)
      .first;
}
