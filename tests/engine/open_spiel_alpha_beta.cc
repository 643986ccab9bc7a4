// OpenSpiel's own alpha-beta on connect four, called by tests/engine/search_peers.py: compiled against the headers of
// its sources, run by the library that its package for Python is.

#include <memory>

#include "open_spiel/algorithms/minimax.h"
#include "open_spiel/spiel.h"

// Searches the position after these columns, 0 to 6, to a depth; gives the value for the side to move, and how many
// leaves there were at the horizon, all worth nothing.
extern "C" double open_spiel_alpha_beta(const char* columns, int depth, long* leaves) {
  static const std::shared_ptr<const open_spiel::Game> game = open_spiel::LoadGame("connect_four");
  const std::unique_ptr<open_spiel::State> state = game->NewInitialState();
  for (; *columns != 0; ++columns) state->ApplyAction(*columns - '0');
  *leaves = 0;
  const auto worth = [leaves](const open_spiel::State&) { return ++*leaves, 0.0; };
  return open_spiel::algorithms::AlphaBetaSearch(*game, state.get(), worth, depth, open_spiel::kInvalidPlayer,
                                                 /*use_undo=*/false)
      .first;
}
