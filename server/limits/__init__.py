"""Who may ask how often: addresses, proxies, rates."""
