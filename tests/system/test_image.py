"""The image and the compose file: checks that need no build."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "server" / "Dockerfile").read_text("utf-8")


def compose_command() -> list[str] | None:
    """Returns the compose command of this machine: Docker's plugin, or the older program."""
    if (
        shutil.which("docker")
        and subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0
    ):
        return ["docker", "compose"]
    return ["docker-compose"] if shutil.which("docker-compose") else None


def test_the_compose_file_is_valid() -> None:
    """`docker compose config` accepts it, and the one service publishes PORT."""
    command = compose_command()
    if command is None:
        pytest.skip("no docker compose client here")
    done = subprocess.run(
        [*command, "config"],
        cwd=ROOT,
        env=os.environ | {"PORT": "8123"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "8123" in done.stdout


def test_every_server_gets_its_names() -> None:
    """Each service that runs the image's own command passes on the address and the names that the
    operator sets for `docker compose`, which are empty by default.
    """
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]
    servers = {name: each for name, each in services.items()
               if each["image"] == "plyroom" and "entrypoint" not in each}  # fmt: skip
    assert {"plyroom", "node1"} <= servers.keys()
    for name, service in servers.items():
        for variable in ("PLYROOM_NAMES", "PLYROOM_URL"):
            assert service["environment"][variable] == f"${{{variable}:-}}", name
        # The server's own default hears IPv4 and IPv6.
        assert "--host" not in service.get("command", []), name
    assert '"--host"' not in DOCKERFILE


def test_the_image_copies_existing_files_that_are_not_ignored() -> None:
    """Each path that the Dockerfile copies exists, and .dockerignore allows exactly those paths."""
    allowed = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE)
    copied = [
        name
        for line in re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE)
        for name in line.split()
    ]
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert sorted(copied) == sorted(allowed)


def test_the_image_has_every_package_of_ours() -> None:
    """The packages that pyproject.toml lists are the folders that the image copies."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for pattern in config["tool"]["setuptools"]["packages"]["find"]["include"]:
        assert re.search(rf"^COPY {pattern.rstrip('*')} ", DOCKERFILE, re.MULTILINE), pattern


def test_the_image_is_built_and_run_for_one_cpu_baseline() -> None:
    """The build and the run have the same CPU settings, which are part of numba's cache key."""
    assert "NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES=" in DOCKERFILE
    assert DOCKERFILE.index("NUMBA_CACHE_DIR=") < DOCKERFILE.index("RUN python -m engine.warm")
