"""What crosses a socket: messages, codes, text and frames."""
