"""The bot of the rooms: it answers commands and questions in the chat."""
