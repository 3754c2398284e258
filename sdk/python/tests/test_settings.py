"""Where an agent serves, what it joins with, and the file of its key."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from beeos import Agent, Client, SetupError
from beeos.identity import Identity
from beeos.settings import file_name, find_settings

GATEWAY = "http://127.0.0.1:4000"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keeps a test away from the environment of who runs it."""
    for name in ("AGENT_GATEWAY_URL", "BEEOS_KEY", "BEEOS_JOIN_TOKEN", "BEEOS_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BEEOS_DATA", str(tmp_path / "data"))
    return tmp_path


def write_dev(home: Path, gateway: str = GATEWAY) -> None:
    (home / "data").mkdir()
    dev = {"agents": gateway, "user_key": "oag_dev", "rest": "http://localhost:8095"}
    (home / "data" / "dev.json").write_text(json.dumps(dev))


def test_nothing_to_join_with() -> None:
    settings = find_settings("echo")
    assert settings.gateway == "http://localhost:8083"
    with pytest.raises(SetupError, match="run `beeos dev` here"):
        settings.credential()


def test_order(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_dev(home)
    assert find_settings("echo").gateway == GATEWAY
    assert find_settings("echo").credential().key == "oag_dev"
    monkeypatch.setenv("BEEOS_KEY", "oag_env")
    assert find_settings("echo").credential().key == "oag_env"
    assert find_settings("echo", key="oag_given").credential().key == "oag_given"
    monkeypatch.setenv("BEEOS_JOIN_TOKEN", "bjt_env")
    assert find_settings("echo", key="oag_given").credential().token == "bjt_env"
    monkeypatch.setenv("AGENT_GATEWAY_URL", "https://example.com/")
    assert find_settings("echo").gateway == "https://example.com"
    assert find_settings("echo", gateway="http://other:1").gateway == "http://other:1"


def test_dev_key_goes_to_dev_alone(home: Path) -> None:
    write_dev(home)
    same = find_settings("echo", gateway="http://localhost:4000")
    assert same.credential().key == "oag_dev"
    with pytest.raises(SetupError):
        find_settings("echo", gateway="http://127.0.0.1:4001").credential()
    assert Client()._key == "oag_dev"
    assert Client("http://localhost:8095/api/v1/")._key == "oag_dev"
    assert Client("http://example.com")._key == ""


@pytest.mark.parametrize("address", ["localhost:8083", "ftp://host", "http://", "http://host:port"])
def test_no_address(address: str) -> None:
    with pytest.raises(SetupError, match="AGENT_GATEWAY_URL"):
        find_settings("echo", gateway=address)


def test_no_name() -> None:
    with pytest.raises(ValueError, match="name"):
        Agent("")


def test_file_names() -> None:
    # The second is what the Go SDK makes of it.
    assert file_name("weather_1-a") == "weather_1-a"
    assert file_name("my agent") == "my-agent-8cae0b62"
    assert len({file_name(n) for n in ("a b", "a  b", "a/b", "a-b")}) == 4


def test_identity(home: Path) -> None:
    path = find_settings("echo").identity
    assert path == home / "beeos" / "agents" / "echo.json"
    made = Identity.open(path)
    made.joined(GATEWAY, "inst_1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = Identity.open(path)
    assert again.key.seed == made.key.seed
    assert again.instance(GATEWAY) == "inst_1"
    assert again.instance("http://other") == ""
    assert [p.name for p in path.parent.iterdir()] == ["echo.json"]
    path.write_text("{}")
    with pytest.raises(SetupError, match="move it away"):
        Identity.open(path)
