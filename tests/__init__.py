"""The promises of Plyroom, one test each."""
