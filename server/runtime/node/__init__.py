"""The rooms of one node: the hub that opens them, the lobby, and the duties beside them."""
