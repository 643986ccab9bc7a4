"""The search: functions written once and compiled for each game with its rules."""
