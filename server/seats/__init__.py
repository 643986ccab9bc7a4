"""AI seats, and the engine workers that search for them."""
