"""Parsers for the files of `deploy/`."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path

import yaml

from ltr_duel.live import read_settings
from ltr_duel.serve import service_settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SETTINGS = read_settings(DEPLOY / "live.toml")
SERVICE = service_settings(SETTINGS.serve, "deploy/live.toml")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def dockerfile():
    """Return the instructions with their arguments, in the order of the file."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.M))
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line]


def image(instruction):
    """Return the argument of the last such instruction, as a list if it is a list."""
    said = [rest for name, rest in dockerfile() if name == instruction][-1]
    return json.loads(said) if said.startswith("[") else said


def health_check():
    """Return the command of the image's health check."""
    return json.loads(image("HEALTHCHECK").partition("CMD")[2])


def unit(name):
    """Return the sections of a systemd unit."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str
    parser.read(DEPLOY / name)
    return parser


def unit_command(name, key="ExecStart"):
    """Return the words of a unit's command, after systemd's replacements."""
    return [word.replace("$$", "$").replace("%%", "%") for word in shlex.split(unit(name)["Service"][key])]


def seconds(text):
    """Return the seconds of a time such as 15s or 2m."""
    return float(text[:-1]) * {"s": 1, "m": 60}[text[-1]]


def timeouts(name):
    """Return the time-outs in a proxy's file by name."""
    found = re.findall(r"^\s*(\w+) (\d+[sm])\b", (DEPLOY / name).read_text(), flags=re.M)
    return {key: seconds(value) for key, value in found}
