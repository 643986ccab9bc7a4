"""The folder of the migrations, for code that runs them from an installed package."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent
