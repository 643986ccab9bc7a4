"""The cluster of docker-compose.yml as processes on this machine, without Docker."""
