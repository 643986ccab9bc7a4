"""The bot's own commands, besides those about positions (`server.bot.explanations`)."""
