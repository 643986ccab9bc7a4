"""A trace as text, as drawings and as a stream."""
