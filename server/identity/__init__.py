"""Who is who: guests today, accounts later."""
