"""What tests use: servers, clients, browsers, clocks."""
