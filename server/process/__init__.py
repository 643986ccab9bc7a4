"""What every process has: logs, metrics, a watchdog and failpoints."""
