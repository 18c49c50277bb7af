"""The processes of `deploy/` run without Docker and systemd, and behind nginx and Caddy where these are installed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from ltr_duel.live import Experiment
from tests.conftest import hear_interrupts
from tests.deploy.files import COMPOSE, DEPLOY, ROOT, SERVICE, health_check, image, seconds, unit_command
from tests.serve.browsing import until

KEY = "0123456789abcdef"
LISTS = {"words": ["a", "b"], "titles": ["b", "c"], "newest": ["c", "a"]}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Machine:
    """A folder with the paths of `deploy/`, and ports for the services."""

    def __init__(self, folder):
        self.folder, self.port, self.site = folder, free_port(), free_port()
        self.places = {
            "/var/lib/ltr-duel": folder / "lib",
            "/etc/ltr-duel": folder / "etc",
            "/opt/ltr-duel/bin/ltr-duel": Path(shutil.which("ltr-duel") or "ltr-duel"),
            "/opt/ltr-duel/": f"{ROOT}/",
            "experiment:8080": f"127.0.0.1:{self.port}",
            "127.0.0.1:8080": f"127.0.0.1:{self.port}",
            "0.0.0.0": "127.0.0.1",
        }
        (folder / "lib" / "backup").mkdir(parents=True)
        (folder / "etc").mkdir()
        text = self.here((DEPLOY / "live.toml").read_text())
        (folder / "etc" / "live.toml").write_text(text.replace("port = 8080", f"port = {self.port}"))

    def here(self, text):
        """Return the text with the paths and addresses of this machine."""
        for there, place in self.places.items():
            text = text.replace(there, str(place))
        return text

    def words(self, words):
        """Return a command adapted to this machine."""
        first = {"ltr-duel": [sys.executable, "-m", "ltr_duel.cli.main"], "python": [sys.executable]}
        return [*first.get(words[0], [self.here(words[0])]), *map(self.here, words[1:])]

    @contextlib.contextmanager
    def running(self, name, words, variables, answers):
        """Run a process, wait until a command succeeds, end it by SIGTERM, and check that it ends in time."""
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                self.words(words),
                env={**os.environ, **{key: self.here(value) for key, value in variables.items()}},
                stdout=log,
                stderr=log,
                preexec_fn=hear_interrupts,
            )
        try:
            until(lambda: process.poll() is not None or answers(), f"{name} answers")
            assert process.poll() is None, (self.folder / f"{name}.log").read_text()
            yield process
            process.send_signal(signal.SIGTERM)
            assert process.wait(seconds(COMPOSE["experiment"]["stop_grace_period"])) in (143, -signal.SIGTERM)
        finally:
            process.kill()
            process.wait()

    def experiment(self):
        """Run the container's command until its health check is passed."""
        check = self.words(health_check())

        def healthy():
            return subprocess.run(check, capture_output=True, check=False).returncode == 0

        return self.running("experiment", image("CMD"), {"LTR_DUEL_API_KEY": KEY}, healthy)


def ask(url, path, said, key=KEY, context=None):
    """Return status and body of an answer."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    body = None if said is None else said if isinstance(said, bytes) else json.dumps(said).encode()
    try:
        request = urllib.request.Request(url + path, body, headers)
        with urllib.request.urlopen(request, timeout=60, context=context) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    machine = Machine(tmp_path_factory.mktemp("machine"))
    with machine.experiment():
        yield machine


def test_the_composed_processes_search_and_count_clicks(machine):
    words = COMPOSE["search"]["command"]
    variables = {**COMPOSE["search"]["environment"], "LTR_DUEL_API_KEY": KEY}
    url = f"http://127.0.0.1:{machine.site}"

    def answers():
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/", timeout=5):
            return True

    def clicked():
        return json.loads(ask(f"http://127.0.0.1:{machine.port}", "/state", None)[1])["clicked"]

    with machine.running("search", [*words[:2], f"{words[2]}:{machine.site}"], variables, answers):
        before = clicked()

        def is_counted():
            """Search and click; on a slow machine some searches get the incumbent's list."""
            found = json.loads(ask(url, "/search", {"query": "sea"})[1])
            assert found["books"]
            said = {"token": found["token"], "clicks": [found["books"][0][0]], "final": True}
            return json.loads(ask(url, "/clicks", said)[1])["recorded"] and clicked() > before

        until(is_counted, "a click is counted")
        with urllib.request.urlopen(f"{url}/clicks.js", timeout=5) as script:
            assert script.headers["content-type"].startswith("text/javascript")


def test_without_its_key_the_composed_service_answers_nobody(machine):
    assert ask(f"http://127.0.0.1:{machine.port}", "/decide", {"query": "q", "rankings": LISTS}, "x" * 16)[0] == 401


def test_a_backup_by_the_units_command_is_a_standby_that_goes_on(machine, tmp_path):
    url = f"http://127.0.0.1:{machine.port}"
    assert ask(url, "/decide", {"query": "q", "rankings": LISTS})[0] == 200
    command = machine.words(unit_command("ltr-duel-backup.service"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # folder of ltr-duel
    env = {**os.environ, "PATH": path}
    said = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True, env=env).stdout
    pages = int(re.search(r"(\d+) pages?", said)[1])  # the printed state may be some seconds old
    (copy,) = (machine.folder / "lib" / "backup").iterdir()
    assert re.fullmatch(r"live-\d{8}T\d{6}\.db", copy.name)
    standby = Machine(tmp_path)
    for source, name in [
        (copy, "live.db"),
        *((machine.folder / "lib" / one, one) for one in ("live.keys", "users.keys")),
    ]:
        shutil.copy(source, tmp_path / "lib" / name)
    with standby.experiment():
        there = f"http://127.0.0.1:{standby.port}"
        assert json.loads(ask(there, "/state", None)[1])["pages"] == pages
        assert ask(there, "/decide", {"query": "q", "rankings": LISTS})[0] == 200
    with Experiment.open(tmp_path / "lib" / "live.db") as experiment:
        assert experiment.pages == pages + 1


def test_after_a_backup_the_latest_24_are_kept_and_files_with_other_names(tmp_path):
    machine = Machine(tmp_path)
    folder = tmp_path / "lib" / "backup"
    command = machine.words(unit_command("ltr-duel-backup.service", "ExecStartPost"))
    names = [f"live-202611{day}T{hour:02}3000.db" for day in (22, 23) for hour in range(12, 24)]
    others = ["live-20261101T000000.db-wal", "live-before-update.db", "notes"]
    for name in [*names, *others]:
        (folder / name).touch()
    subprocess.run(command, check=True, timeout=60)
    assert sorted(one.name for one in folder.iterdir()) == sorted([*names, *others])
    newer = ["live-20261124T000030.db", "live-20261124T001012.db", "live-20270101T000000.db"]
    for name in newer:
        (folder / name).touch()
    subprocess.run(command, check=True, timeout=60)
    assert sorted(one.name for one in folder.iterdir()) == sorted([*names[3:], *newer, *others])


def test_what_a_killed_backup_left_is_removed_an_hour_later(tmp_path):
    machine = Machine(tmp_path)
    folder = tmp_path / "lib" / "backup"
    left = [f".live-20261124T00{k}000.db.0123456789abcdef.db{end}" for k, end in enumerate(("", "-journal", ""))]
    others = ["live-20261124T000000.db", ".notes"]
    for name in [*left, *others]:
        (folder / name).touch()
        if name != left[2]:  # file of a running backup
            os.utime(folder / name, (0, time.time() - 3700))
    command = machine.words(unit_command("ltr-duel-backup.service", "ExecStartPre"))
    subprocess.run(command, check=True, timeout=60)
    assert sorted(one.name for one in folder.iterdir()) == sorted([left[2], *others])


def proxied(url, context=None):
    """Request a page, report it, and check that a too large body is rejected."""
    status, body = ask(url, "/decide", {"query": "by proxy", "rankings": LISTS}, context=context)
    assert status == 200
    said = {"token": json.loads(body)["token"], "clicks": [], "final": True}
    assert ask(url, "/clicks", said, context=context)[0] == 200
    large = b"x" * (SERVICE.largest_body + 1)
    assert ask(url, "/decide", large, context=context)[0] in (413, 502)  # Caddy 2.6 answers 502
    assert ask(url, "/decide", {"query": "q", "rankings": LISTS}, "x" * 16, context=context)[0] == 401
    assert [ask(url, path, None, context=context)[0] for path in ("/health", "/state", "/")] == [200, 404, 404]


@pytest.mark.skipif(not shutil.which("caddy"), reason="needs caddy")
def test_caddy_leads_to_the_service(machine, tmp_path):
    url = f"http://127.0.0.1:{free_port()}"
    text = machine.here((DEPLOY / "Caddyfile").read_text()).replace("experiment.example.org", url)
    (tmp_path / "Caddyfile").write_text(text.replace("{\n\tservers", "{\n\tadmin off\n\tservers", 1))
    with proxy(["caddy", "run", "--adapter", "caddyfile", "--config", tmp_path / "Caddyfile"], tmp_path, url):
        proxied(url)


@pytest.mark.skipif(not shutil.which("nginx") or not shutil.which("openssl"), reason="needs nginx and openssl")
def test_nginx_leads_to_the_service(machine, tmp_path):
    import ssl

    port = free_port()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-keyout", tmp_path / "ltr-duel.key", "-out", tmp_path / "ltr-duel.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    text = machine.here((DEPLOY / "nginx.conf").read_text())
    text = text.replace("/etc/ssl", str(tmp_path)).replace("listen 443", f"listen 127.0.0.1:{port}")
    temporary = "".join(
        f"{name}_temp_path {tmp_path / name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{text}\n}}\n"
    )
    context = ssl.create_default_context(cafile=tmp_path / "ltr-duel.pem")
    context.check_hostname = False
    url = f"https://127.0.0.1:{port}"
    with proxy(["nginx", "-p", tmp_path, "-e", "stderr", "-c", tmp_path / "nginx.conf"], tmp_path, url, context):
        proxied(url, context)


@contextlib.contextmanager
def proxy(words, folder, url, context=None):
    """Run a proxy until the end of the test."""
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ, "HOME": str(folder)})

    def answers():
        if process.poll() is not None:
            return True
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/ready", timeout=5, context=context):
            return True

    try:
        until(answers, "the proxy answers")
        assert process.poll() is None, (folder / "proxy.log").read_text()
        yield
    finally:
        process.terminate()
        process.wait(30)
