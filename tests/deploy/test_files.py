"""The files of `deploy/` agree with the program and with each other, and their processes run (without Docker)."""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from ltr_duel.cli.main import cli
from ltr_duel.live import read_settings, service_settings
from ltr_duel.live.serve import GRACE, IDLE

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SETTINGS = read_settings(DEPLOY / "live.toml")
SERVICE = service_settings(SETTINGS.serve, "deploy/live.toml")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
NGINX = (DEPLOY / "nginx.conf").read_text()


def dockerfile():
    """Return the instructions with their arguments, in the order of the file."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.M))
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line]


def image(instruction):
    """Return the argument of the last such instruction, as a list if it is a list."""
    argument = [rest for name, rest in dockerfile() if name == instruction][-1]
    return json.loads(argument) if argument.startswith("[") else argument


def health_check():
    """Return the command of the image's health check."""
    return json.loads(image("HEALTHCHECK").partition("CMD")[2])


def unit():
    """Return the section [Service] of the systemd unit."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str
    parser.read(DEPLOY / "ltr-duel.service")
    return parser["Service"]


def seconds(text):
    """Return the seconds of a time such as 15s or 2m."""
    return float(text[:-1]) * {"s": 1, "m": 60}[text[-1]]


def test_the_experiment_is_that_of_the_example_but_for_its_window():
    example = vars(read_settings(ROOT / "examples" / "live.toml"))
    assert {**example, "window": 1800.0, "serve": None} == {**vars(SETTINGS), "serve": None}


@pytest.mark.parametrize("words", [image("CMD"), shlex.split(unit()["ExecStart"])], ids=["image", "unit"])
def test_the_command_serves_the_settings_with_options_of_the_program(words):
    assert Path(words[0]).name == "ltr-duel" and words[1] == "serve"
    given = cli.get_command(None, "serve").make_context("serve", list(words[2:])).params
    assert given["config"] == Path("/etc/ltr-duel/live.toml")


def test_the_image_listens_for_others_at_its_port_and_its_health_is_checked_there():
    assert image("CMD")[image("CMD").index("--host") + 1] == "0.0.0.0"
    url = re.search(r"http://127.0.0.1:(\d+)(/\w+)", health_check()[-1])
    assert int(image("EXPOSE")) == int(url[1]) == SERVICE.port and url[2] == "/health"
    ast.parse(health_check()[-1])


def test_the_composed_services_find_each_other_and_end_in_time():
    experiment, search = COMPOSE["experiment"], COMPOSE["search"]
    assert search["environment"]["LTR_DUEL_SERVICE"] == f"http://experiment:{SERVICE.port}"
    assert search["environment"]["LTR_DUEL_API_KEY"] == experiment["environment"]["LTR_DUEL_API_KEY"]
    assert search["depends_on"] == {"experiment": {"condition": "service_healthy"}}
    assert seconds(experiment["stop_grace_period"]) > GRACE
    assert experiment["volumes"] == [f"experiment:{Path(SERVICE.store).parent}"]


def test_the_unit_keeps_its_files_ends_in_time_and_is_not_restarted_after_an_error_of_the_settings():
    service = unit()
    assert service["SuccessExitStatus"] == "143" and int(service["TimeoutStopSec"]) > GRACE
    folder = f"/var/lib/{service['StateDirectory']}"
    assert {str(Path(name).parent) for name in (SERVICE.store, SERVICE.key_file)} == {folder}
    assert int(service["LimitNOFILE"]) > 2 * SERVICE.connections
    assert service["RestartPreventExitStatus"] == "2"  # the exit code of an `InputError`
    assert service["MemoryMax"] == COMPOSE["experiment"]["mem_limit"].upper()
    assert "MemoryDenyWriteExecute" not in service  # numba writes executable memory


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_but_the_missing_program():
    command = ["systemd-analyze", "verify", "--man=no", DEPLOY / "ltr-duel.service"]
    done = subprocess.run(command, capture_output=True, text=True)
    strange = [line for line in done.stderr.splitlines() if "is not executable" not in line]
    assert not [line for line in strange if "ltr-duel" in line], done.stderr


def test_the_proxy_waits_longer_than_the_service_and_drops_idle_connections_before_it():
    times = {name: seconds(value) for name, value in re.findall(r"^\s*(\w+) (\d+[sm])\b", NGINX, flags=re.M)}
    assert times["proxy_read_timeout"] > SERVICE.answer_seconds and times["keepalive_timeout"] < IDLE
    assert f"server {SERVICE.host}:{SERVICE.port};" in NGINX
    assert f"client_max_body_size {SERVICE.largest_body};" in NGINX
    assert int(re.search(r"limit_conn ltr_duel (\d+);", NGINX)[1]) < SERVICE.connections
