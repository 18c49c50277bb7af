"""The files of `deploy/` agree with the program, and with each other."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import ltr_duel
from ltr_duel.cli.live import command as live
from ltr_duel.cli.main import cli
from ltr_duel.live import read_settings
from ltr_duel.serve import run
from tests.deploy.files import (
    COMPOSE,
    DEPLOY,
    ROOT,
    SERVICE,
    SETTINGS,
    dockerfile,
    health_check,
    image,
    seconds,
    timeouts,
    unit,
    unit_command,
)

UNITS = sorted(path.name for path in DEPLOY.glob("*.service"))


def test_the_experiment_is_that_of_the_example():
    example = read_settings(ROOT / "examples" / "live.toml")
    assert {**vars(example), "serve": None} == {**vars(SETTINGS), "serve": None}


@pytest.mark.parametrize("words", [image("CMD"), unit_command("ltr-duel.service")], ids=["image", "unit"])
def test_the_command_serves_the_settings_with_legal_options(words):
    assert Path(words[0]).name == "ltr-duel" and words[1] == "serve"
    given = cli.get_command(None, "serve").make_context("serve", list(words[2:])).params
    assert given["config"] == Path("/etc/ltr-duel/live.toml") and given["wait"] > run._GRACE


def test_the_image_listens_for_others_where_its_port_is_and_is_asked_whether_it_is_ready():
    assert image("CMD")[image("CMD").index("--host") + 1] == "0.0.0.0"
    assert int(image("EXPOSE")) == SERVICE.port
    url = re.search(r"http://127.0.0.1:(\d+)(/\w+)", health_check()[-1])
    assert int(url[1]) == SERVICE.port and url[2] == "/ready"
    ast.parse(health_check()[-1])


def test_the_image_holds_what_its_processes_read():
    copied = [rest.split() for name, rest in dockerfile() if name == "COPY"]
    package = Path(ltr_duel.__file__).parent.name  # outside ROOT if only the wheel is tested
    assert all((ROOT / one).exists() or one == package for *sources, _ in copied for one in sources)
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    assert [f"!{one}" for *sources, _ in copied for one in sources] == [one for one in ignored if one[0] == "!"]
    held = {place for *_, place in copied}
    assert {"/etc/ltr-duel/live.toml", "/opt/ltr-duel/docs/search_page", "/opt/ltr-duel/clients/js"} <= held
    assert image("USER") == "ltr-duel"


def test_the_composed_services_find_each_other_and_end_in_time():
    experiment, search = COMPOSE["experiment"], COMPOSE["search"]
    assert search["environment"]["LTR_DUEL_SERVICE"] == f"http://experiment:{SERVICE.port}"
    assert search["environment"]["LTR_DUEL_API_KEY"] == experiment["environment"]["LTR_DUEL_API_KEY"]
    assert search["command"][1].startswith("/opt/ltr-duel/docs/search_page/") and search["command"][2] == "0.0.0.0"
    assert search["depends_on"] == {"experiment": {"condition": "service_healthy"}}
    assert seconds(experiment["stop_grace_period"]) > run._GRACE
    assert experiment["volumes"] == [f"experiment:{Path(SERVICE.store).parent}"] and image("VOLUME") in SERVICE.key_file


def test_the_unit_lets_the_service_end_and_keeps_its_files():
    service = unit("ltr-duel.service")["Service"]
    assert service["SuccessExitStatus"] == "143" and int(service["TimeoutStopSec"]) > run._GRACE
    folder = f"/var/lib/{service['StateDirectory']}"
    for name in (SERVICE.store, SERVICE.key_file, SERVICE.user_key_file):
        assert str(Path(name).parent) == folder
    assert int(service["LimitNOFILE"]) > 2 * SERVICE.connections
    assert "MemoryDenyWriteExecute" not in service  # numba writes executable memory


def test_the_unit_waits_for_the_clock_and_has_a_limit_of_memory():
    assert "time-sync.target" in unit("ltr-duel.service")["Unit"]["After"].split()
    assert unit("ltr-duel.service")["Service"]["MemoryMax"] == COMPOSE["experiment"]["mem_limit"].upper()


def test_what_another_start_would_refuse_too_is_not_started_again():
    assert unit("ltr-duel.service")["Service"]["RestartPreventExitStatus"] == "2"  # exit code of an `InputError`


def test_the_backup_may_do_no_more_than_the_service():
    service, backup = (unit(f"ltr-duel{end}.service")["Service"] for end in ("", "-backup"))
    words = ("Protect", "Private", "Restrict", "NoNew", "Lock", "Capability", "SystemCall")
    asked = {name for name in service if name.startswith(words)} - {
        "RestrictAddressFamilies",
        "RestartPreventExitStatus",
    }
    assert {name: backup[name] for name in asked} == {name: service[name] for name in asked}
    assert set(backup["RestrictAddressFamilies"].split()) < set(service["RestrictAddressFamilies"].split())


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_the_proxies_publish_what_search_pages_and_balancers_ask(name):
    (pattern,) = re.findall(r"\^\S+\$", (DEPLOY / name).read_text())
    open_to_all = ["/decide", "/clicks", "/events", "/health", "/ready"]
    closed = [
        "/",
        "/switch",
        "/state",
        "/shoes/decide",
        "/decide/switch",
    ]
    assert [path for path in [*open_to_all, *closed] if re.search(pattern, path)] == open_to_all


def test_the_backup_is_of_the_store_and_is_kept_where_the_unit_may_write():
    words = unit_command("ltr-duel-backup.service")
    command, state = words[2].split(), unit("ltr-duel-backup.service")["Service"]["StateDirectory"].split()
    assert command[:4] == ["exec", "/opt/ltr-duel/bin/ltr-duel", "live", "backup"] and "backup" in live.commands
    assert command[4] == SERVICE.store and command[5].startswith(f"/var/lib/{state[1]}/")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_finds_nothing_wrong_but_the_missing_program(name):
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", DEPLOY / name], capture_output=True, text=True)
    strange = [line for line in done.stderr.splitlines() if "is not executable" not in line]
    assert not [line for line in strange if "ltr-duel" in line], done.stderr


def test_proxies_wait_longer_than_the_service_and_drop_kept_connections_before_it():
    nginx, caddy = timeouts("nginx.conf"), timeouts("Caddyfile")
    assert nginx["proxy_read_timeout"] > SERVICE.answer_seconds < caddy["response_header_timeout"]
    assert nginx["proxy_send_timeout"] > SERVICE.body_seconds < caddy["write_timeout"]
    assert nginx["client_body_timeout"] > SERVICE.body_seconds < caddy["read_body"]
    assert nginx["keepalive_timeout"] < SERVICE.idle_seconds > caddy["keepalive"]
    assert caddy["write"] > caddy["response_header_timeout"]


def test_proxies_lead_to_the_service_and_take_what_it_takes():
    nginx, caddy = (DEPLOY / "nginx.conf").read_text(), (DEPLOY / "Caddyfile").read_text()
    assert f"server {SERVICE.host}:{SERVICE.port};" in nginx
    assert f"reverse_proxy {SERVICE.host}:{SERVICE.port} " in caddy
    assert f"client_max_body_size {SERVICE.largest_body};" in nginx
    assert f"max_size {SERVICE.largest_body // 1000}KB" in caddy
