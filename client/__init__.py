"""The clients: browser, terminal, and the connection that all but the browser share."""
