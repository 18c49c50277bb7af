"""Build the release, and test the wheel alone in an empty environment on each Python.

1. sdist and wheel are built into dist/, the wheel from the sdist; twine checks both.
2. The wheel must contain exactly the package's files in git, and the sdist all files in git except .ci/ and .github/.
3. For each Python version of the classifiers that is found on this machine, the wheel and its requirements are
   installed in an empty environment. `ltr-duel --version` and `ltr-duel demo` run in an empty folder with an
   empty cache, then a part of the tests, with the installed package instead of the sources. Then the extras and
   the tools of tests are installed (``dev``), and all tests run.

A missing Python version is reported, and is an error with --require. The script requires only Python, git, and a
package index.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
TOOLS = ROOT / ".release"
OF_THE_REPOSITORY = (".ci/", ".github/")  # folders that the sdist omits
TEST_TOOLS = ("pytest>=8.2", "hypothesis>=6.100")
SMOKE = (  # tests of every floor that needs no extra
    "tests/cli/test_version.py",
    "tests/cli/test_words.py",
    "tests/clicks",
    "tests/core/test_kernels.py",
    "tests/data/test_dataset.py",
    "tests/interleaving/test_edges.py",
    "tests/preferences/test_matrix.py",
    "tests/simulation/test_regret.py",
    "tests/test_shown_in_notebooks.py",
)


def main() -> int:
    """Run all steps; return 0 if all passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--require", action="store_true", help="a supported Python that is not found is an error")
    parser.add_argument("--only", metavar="3.X", help="try this Python only")
    parser.add_argument("--quick", action="store_true", help="skip the tests with extras; the rest takes minutes")
    parser.add_argument("tests", nargs="*", default=["tests"], help="the tests to run with all extras (default: all)")
    asked = parser.parse_args()
    wheel, sdist = build()
    check_contents(wheel, sdist)
    wanted = [version for version in supported() if asked.only in (None, version)]
    absent = []
    for version in wanted:
        if python := interpreter(version):
            try_on(version, python, wheel, sdist, [] if asked.quick else asked.tests)
        else:
            absent.append(version)
            say(f"Python {version}: not found on this machine, so not tested")
    if not wanted or len(absent) == len(wanted) or (absent and asked.require):
        say("some supported versions were not tested")
        return 1
    say(f"dist/{wheel.name} and dist/{sdist.name} pass on Python {', '.join(v for v in wanted if v not in absent)}")
    return 0


def build() -> tuple[Path, Path]:
    """Build the wheel and the sdist, and check both with twine."""
    python = new_environment(Path(sys.executable), TOOLS, ["build>=1.2", "twine>=6"])
    for old in DIST.glob("ltr_duel-*"):
        old.unlink()
    run(python, "-m", "build", "--outdir", DIST, ROOT, quiet=True)
    (wheel,), (sdist,) = DIST.glob("ltr_duel-*.whl"), DIST.glob("ltr_duel-*.tar.gz")
    run(python, "-m", "twine", "check", "--strict", wheel, sdist)
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path) -> None:
    """Compare the packed files with the files in git."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True)
    known = set(listed.stdout.splitlines())
    package = {name for name in known if name.startswith("ltr_duel/")}
    package |= {f"ltr_duel/{name}" for name in known if name.startswith("experiments/")}
    with zipfile.ZipFile(wheel) as archive:
        compare(wheel, {name for name in archive.namelist() if ".dist-info/" not in name}, package)
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()} - {"PKG-INFO"}
    compare(sdist, names, {name for name in known if not name.startswith(OF_THE_REPOSITORY)})


def compare(path: Path, packed: set[str], wanted: set[str]) -> None:
    """Exit with a sentence if a file is missing or unexpected."""
    if missing := sorted(wanted - packed):
        sys.exit(f"{path.name}: lacks {', '.join(missing)}")
    if stray := sorted(packed - wanted):
        sys.exit(f"{path.name}: contains files that are not in git: {', '.join(stray)}")
    say(f"{path.name}: {len(packed)} files, the same files as in git")


def supported() -> list[str]:
    """Return the Python versions of the classifiers."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    begin = "Programming Language :: Python :: "
    versions = [one.removeprefix(begin) for one in classifiers if one.startswith(f"{begin}3.")]
    return sorted(versions, key=lambda version: int(version.partition(".")[2]))


def interpreter(version: str) -> Path | None:
    """Return a Python of this version: the running Python, or one from PATH, pyenv, or uv; None if none is found."""
    candidates = [sys.executable, shutil.which(f"python{version}")]
    candidates += sorted(str(one) for one in Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if uv := shutil.which("uv"):
        found = subprocess.run([uv, "python", "find", "--no-python-downloads", version], capture_output=True, text=True)
        candidates.append(found.stdout.strip())
    for candidate in filter(None, candidates):
        said = subprocess.run(
            [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True
        )
        if said.stdout.strip() == version:
            return Path(candidate)
    return None


def try_on(version: str, python: Path, wheel: Path, sdist: Path, tests: list[str]) -> None:
    """Install the wheel alone and run the demo and a part of the tests; then add the extras and run ``tests``."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ltr_duel-") as name:
        folder = Path(name)
        own = new_environment(python, folder / "env", [str(wheel)])
        program, clean = own.with_name("ltr-duel"), without_python_settings(folder / "home")
        empty = folder / "empty"
        empty.mkdir()
        said = run(program, "--version", cwd=empty, env=clean, quiet=True)
        say(f"Python {version}: installed {said.splitlines()[1]}")
        run(program, "demo", "--out", "demo", cwd=empty, env=clean, quiet=True)
        report = empty / "demo" / "report.html"
        if not report.is_file():
            sys.exit(f"Python {version}: the demo wrote no report.html")
        say(f"Python {version}: the demo's report has {report.stat().st_size:,} bytes")
        run(own, "-m", "pip", "install", "--quiet", *TEST_TOOLS)
        sources = unpacked_without_package(sdist, folder)
        where = run(own, "-c", "import ltr_duel; print(ltr_duel.__file__)", cwd=sources, env=clean, quiet=True).strip()
        if not Path(where).is_relative_to(folder / "env"):
            sys.exit(f"Python {version}: the tests would import {where} instead of the wheel")
        run(own, "-m", "pytest", "-p", "no:cacheprovider", *SMOKE, cwd=sources, env=clean)
        if tests:
            run(own, "-m", "pip", "install", "--quiet", f"{wheel}[dev]")
            say(f"Python {version}: the wheel alone passes; next, the wheel with its extras")
            spread = ("-n", "auto", "--maxprocesses=4", "--dist", "loadfile")
            run(own, "-m", "pytest", "-p", "no:cacheprovider", *spread, *tests, cwd=sources, env=clean)
    say(f"Python {version}: passed in {time.monotonic() - began:.0f} s")


def unpacked_without_package(sdist: Path, folder: Path) -> Path:
    """Unpack the sdist without the package, so that the tests use the installed package."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    sources = folder / sdist.name.removesuffix(".tar.gz")
    shutil.rmtree(sources / "ltr_duel")
    return sources


def new_environment(python: Path, folder: Path, packages: list[str]) -> Path:
    """Make an environment with these packages and their requirements; return its Python."""
    run(python, "-m", "venv", "--clear", folder)
    own = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return own


def without_python_settings(home: Path) -> dict[str, str]:
    """Return the environment variables without paths to other packages, and with an empty cache."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "LTR_DUEL_"))}
    return kept | {"LTR_DUEL_HOME": str(home)}


def run(*words: object, cwd: Path = ROOT, env: dict[str, str] | None = None, quiet: bool = False) -> str:
    """Run a program; if it fails, print its output and exit."""
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=env, text=True, stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.PIPE if quiet else None,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{done.stdout or ''}{done.stderr or ''}\nfailed: {' '.join(map(str, words))}")
    return done.stdout or ""


def say(sentence: str) -> None:
    """Print a line without buffering."""
    print(sentence, flush=True)


if __name__ == "__main__":
    sys.exit(main())
