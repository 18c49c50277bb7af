"""The files of `deploy/` agree with the program and with each other, and their processes run (without Docker)."""

from __future__ import annotations

import ast
import configparser
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

import ltr_duel
from ltr_duel.cli.main import cli
from ltr_duel.live import read_settings, service_settings
from ltr_duel.live.serve import GRACE, IDLE
from tests.conftest import hear_interrupts

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SETTINGS = read_settings(DEPLOY / "live.toml")
SERVICE = service_settings(SETTINGS.serve, "deploy/live.toml")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
NGINX = (DEPLOY / "nginx.conf").read_text()
KEY = "0123456789abcdef"
SEARCH = {"user": "u1", "query": "sea", "rankings": {"words": ["a", "b"], "titles": ["b", "c"], "newest": ["c", "a"]}}


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


def test_the_image_contains_what_its_processes_read():
    copied = [rest.split() for name, rest in dockerfile() if name == "COPY"]
    package = Path(ltr_duel.__file__).parent.name  # outside ROOT if only the wheel is tested
    sources = [source for *several, _ in copied for source in several]
    assert all((ROOT / source).exists() or source == package for source in sources)
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    assert [f"!{source}" for source in sources] == [line for line in ignored if line[0] == "!"]
    targets = {target for *_, target in copied}
    assert {"/etc/ltr-duel/live.toml", "/opt/ltr-duel/docs/search_page", "/opt/ltr-duel/clients/js"} <= targets
    assert image("USER") == "ltr-duel" and image("VOLUME") in SERVICE.store


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


def test_the_proxy_publishes_what_search_pages_and_balancers_use():
    (pattern,) = re.findall(r"\^\S+\$", NGINX)
    public, private = (
        ["/decide", "/events", "/health"],
        ["/", "/control", "/state", "/plan", "/metrics", "/decide/plan"],
    )
    assert [path for path in [*public, *private] if re.search(pattern, path)] == public


class Machine:
    """A folder with the paths of `deploy/`, and free ports for the processes."""

    def __init__(self, folder):
        self.folder, self.port, self.site = folder, free_port(), free_port()
        self.places = {
            "/var/lib/ltr-duel": folder / "lib",
            "/etc/ltr-duel": folder / "etc",
            "/opt/ltr-duel/": f"{ROOT}/",
            "experiment:8080": f"127.0.0.1:{self.port}",
            "127.0.0.1:8080": f"127.0.0.1:{self.port}",
            "0.0.0.0": "127.0.0.1",
        }
        (folder / "lib").mkdir()
        (folder / "etc").mkdir()
        text = self.here((DEPLOY / "live.toml").read_text()).replace("window = 1800", "window = 1")
        (folder / "etc" / "live.toml").write_text(text.replace("port = 8080", f"port = {self.port}"))

    def here(self, text):
        """Return the text with the paths and addresses of this machine."""
        for there, place in self.places.items():
            text = text.replace(there, str(place))
        return text

    def words(self, words):
        """Return a command adapted to this machine."""
        first = {"ltr-duel": [sys.executable, "-m", "ltr_duel.cli.main"], "python": [sys.executable]}
        return [*first[words[0]], *map(self.here, words[1:])]

    @contextlib.contextmanager
    def running(self, name, words, variables, answers):
        """Run a process, wait until it answers, end it by SIGTERM, and check that it ends in time."""
        environment = {**os.environ, **{key: self.here(value) for key, value in variables.items()}}
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(words, env=environment, stdout=log, stderr=log, preexec_fn=hear_interrupts)
        try:
            until(lambda: process.poll() is not None or answers())
            assert process.poll() is None, (self.folder / f"{name}.log").read_text()
            yield
            process.send_signal(signal.SIGTERM)
            assert process.wait(seconds(COMPOSE["experiment"]["stop_grace_period"])) in (0, 143, -signal.SIGTERM)
        finally:
            process.kill()
            process.wait()

    def serving(self):
        """Run the container's command until its health check is passed."""
        check = self.words(health_check())

        def healthy():
            return subprocess.run(check, capture_output=True, check=False).returncode == 0

        return self.running("experiment", self.words(image("CMD")), {"LTR_DUEL_API_KEY": KEY}, healthy)


def free_port():
    """Return a port that no process uses."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(condition):
    """Wait until a condition is true."""
    ends = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.05)


def ask(url, body=None, key=KEY, context=None, cookie=""):
    """Return status and body of an answer."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}", "cookie": cookie}
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    try:
        request = urllib.request.Request(url, content, headers)
        with urllib.request.urlopen(request, timeout=60, context=context) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """Return a machine that runs the service."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    with machine.serving():
        yield machine


def test_the_composed_processes_search_and_count_clicks(machine):
    words, service = COMPOSE["search"]["command"], f"http://127.0.0.1:{machine.port}"
    variables, site = COMPOSE["search"]["environment"] | {"LTR_DUEL_API_KEY": KEY}, f"http://127.0.0.1:{machine.site}"

    def answers():
        with contextlib.suppress(OSError):
            return ask(site)[0] == 200

    def clicked():
        """Search and click; on a slow machine some searches get the incumbent's list."""
        found = json.loads(ask(f"{site}/search", {"query": "sea"}, cookie="session=reader")[1])
        events = [{"kind": "view"}, {"kind": "click", "document": found["books"][0][0]}]
        ask(f"{site}/events", {"token": found["token"], "events": events})
        return json.loads(ask(f"{service}/state")[1])["clicked"] > 0

    with machine.running("search", machine.words([*words[:2], f"{words[2]}:{machine.site}"]), variables, answers):
        until(clicked)
        assert b"session=" in str(urllib.request.urlopen(site, timeout=5).headers).encode()
        assert ask(f"{site}/clicks.js")[0] == 200


@pytest.mark.skipif(not shutil.which("nginx") or not shutil.which("openssl"), reason="needs nginx and openssl")
def test_nginx_leads_to_the_service(machine, tmp_path):
    port = free_port()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-keyout", tmp_path / "ltr-duel.key", "-out", tmp_path / "ltr-duel.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    text = machine.here(NGINX).replace("/etc/ssl", str(tmp_path)).replace("listen 443", f"listen 127.0.0.1:{port}")
    folders = "".join(
        f"{name}_temp_path {tmp_path / name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log stderr;\nevents {{}}\nhttp {{ access_log off;\n{folders}{text} }}\n"
    )
    context = ssl.create_default_context(cafile=tmp_path / "ltr-duel.pem")
    context.check_hostname = False
    url = f"https://127.0.0.1:{port}"

    def answers():
        with contextlib.suppress(OSError):
            return ask(f"{url}/health", context=context)[0] == 200

    command = ["nginx", "-p", tmp_path, "-e", "stderr", "-c", tmp_path / "nginx.conf"]
    with machine.running("nginx", command, {"HOME": str(tmp_path)}, answers):
        status, body = ask(f"{url}/decide", SEARCH, context=context)
        report = {"token": json.loads(body)["token"], "events": [{"kind": "view"}]}
        assert status == 200 and ask(f"{url}/events", report, context=context)[0] == 200
        assert ask(f"{url}/decide", b"x" * (SERVICE.largest_body + 1), context=context)[0] == 413
        assert ask(f"{url}/decide", SEARCH, "x" * 16, context)[0] == 401
        assert [ask(f"{url}{path}", None, KEY, context)[0] for path in ("/state", "/control", "/")] == [404] * 3
