"""The clients: browser, terminal, and the connection that the Python clients share."""
