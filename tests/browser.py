"""The browser in which HTML pages are tested: one that is installed, or else playwright's own.

`python tests/browser.py` (part of `make test`) installs one where none is found, or says what to install.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Error as PlaywrightError

VARIABLE = "L2S_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# a browser that is at rest still asks its maker for news, and pages are tested without a network
_QUIET = ("--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync")


def installed() -> str | None:
    """The browser named by L2S_BROWSER or found on the path; None leaves the choice to playwright."""
    return os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser; an error where there is none."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed(), args=_QUIET, timeout=120_000)
        yield browser
        browser.close()


def problem() -> str | None:
    """Why no browser starts, if none does."""
    try:
        with chromium() as browser:
            browser.new_page()
    except PlaywrightError as error:
        return str(error).strip().splitlines()[0]
    return None


def install() -> None:
    """Debian's Chromium for root, playwright's own build for anybody else."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        packages = ["--no-install-recommends", "chromium", "fonts-liberation"]
        commands = [["apt-get", "update", "-qq"], ["apt-get", "install", "-qq", "--yes", *packages]]
    else:
        commands = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in commands:
        print(*command, file=sys.stderr)
        if subprocess.run(command, env=environment, stdout=sys.stderr).returncode:
            return


def main() -> None:
    """Make sure that a browser starts."""
    remaining = problem()
    if remaining and VARIABLE not in os.environ:
        install()
        remaining = problem()
    if remaining is not None:
        advice = f"install Chromium (Debian: sudo apt-get install chromium) or set {VARIABLE} to a browser like it"
        sys.exit(f"The tests of HTML pages need a browser, and none starts: {remaining}\n{advice}")


if __name__ == "__main__":
    main()
