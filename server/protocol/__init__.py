"""The wire protocol: messages, codes, codec and frames."""
