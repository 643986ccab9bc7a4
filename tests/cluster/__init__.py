"""The cluster of docker-compose.yml as processes of this machine, without Docker: the same commands
and settings.
"""
