"""Configuration of a cluster, and the databases, brokers and clusters of tests and benchmarks."""
