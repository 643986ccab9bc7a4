"""The server's databases and brokers, started for tests and benchmarks."""
