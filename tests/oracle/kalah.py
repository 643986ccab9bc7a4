"""Kalah(6,4) in plain Python, written without our rules: a list of fourteen pits.

OpenSpiel's mancala leaves a last seed where it is if the opposite house is empty. With
`takes_empty` False this referee plays by that rule, so OpenSpiel can confirm everything else.
"""

from dataclasses import dataclass, field

#: The pits of the stores; south's houses are 0 to 5, north's 7 to 12.
STORES = (6, 13)


@dataclass
class Kalah:
    """A match; `player` is to move, and the pits are in the order of sowing."""

    takes_empty: bool = True
    pits: list[int] = field(default_factory=lambda: [4] * 6 + [0] + [4] * 6 + [0])
    player: int = 0

    def houses(self, player: int) -> range:
        return range(7 * player, 7 * player + 6)

    def is_over(self) -> bool:
        return not any(self.pits[h] for player in (0, 1) for h in self.houses(player))

    def legal(self) -> list[int]:
        """The pits that the player to move may sow from."""
        return [house for house in self.houses(self.player) if self.pits[house] > 0]

    def play(self, house: int) -> "Kalah":
        pits = list(self.pits)
        hand, pits[house] = pits[house], 0
        at = house
        while hand:
            at = (at + 1) % 14
            if at != STORES[1 - self.player]:
                pits[at] += 1
                hand -= 1
        opposite = 12 - at
        captures = pits[opposite] > 0 or self.takes_empty
        if at in self.houses(self.player) and pits[at] == 1 and captures:
            pits[STORES[self.player]] += 1 + pits[opposite]
            pits[at] = pits[opposite] = 0
        if not all(any(pits[h] for h in self.houses(player)) for player in (0, 1)):
            for player in (0, 1):
                for h in self.houses(player):
                    pits[STORES[player]] += pits[h]
                    pits[h] = 0
        keeps = at == STORES[self.player]
        return Kalah(self.takes_empty, pits, self.player if keeps else 1 - self.player)

    def perft(self, depth: int) -> int:
        if depth == 0:
            return 1
        return sum(self.play(house).perft(depth - 1) for house in self.legal())
