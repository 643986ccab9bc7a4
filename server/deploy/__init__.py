"""Programs beside the server: databases and brokers, started here."""
