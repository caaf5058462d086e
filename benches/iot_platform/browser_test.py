#!/usr/bin/env python3
"""The page of the platform in a real browser.

Starts a server and a device application, opens the page in Chromium by Playwright (pip install playwright), and checks
the page: values that change, a join made and removed with the form, refusals of the server, and a server that is gone.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIMEOUT_MS = 15_000


def started(*words):
    """A process, and the first line that it prints, as JSON."""
    process = subprocess.Popen([sys.executable, *map(str, words)], stdout=subprocess.PIPE, text=True)
    return process, json.loads(process.stdout.readline())


def use(page, http, expect):
    """What a user does."""
    page.goto(f"http://127.0.0.1:{http}/")
    expect(page.locator("#status")).to_contain_text("1 devices")
    row = page.locator("#sensors tbody tr", has_text="room/temperature")
    expect(row).to_have_count(1)
    before = row.locator("td").nth(1).inner_text()
    expect(row.locator("td").nth(1)).not_to_have_text(before)
    expect(row.locator("polyline")).to_have_count(1)
    expect(page.locator("#actuators tbody tr", has_text="room/fan")).to_have_count(1)
    expect(page.locator("#joins tbody tr")).to_have_count(1)
    page.set_viewport_size({"width": 500, "height": 1200})
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 500, f"the page is {width} pixels wide in a window of 500"
    page.set_viewport_size({"width": 1000, "height": 900})

    page.get_by_label("name").fill("cold")
    page.get_by_label("from").fill("room/height")
    page.get_by_label("to", exact=True).fill("room/fan")
    page.get_by_role("button", name="join", exact=True).click()
    expect(page.locator("#refusal")).to_have_text("device room has no sensor 'height'")
    page.get_by_label("from").fill("room/temperature")
    page.get_by_label("function").select_option("scale")
    page.get_by_label("parameters").fill('{"factor": 2}')
    page.get_by_role("button", name="join", exact=True).click()
    expect(page.locator("#joins tbody tr", has_text='scale {"factor":2}')).to_have_count(1)
    expect(page.locator("#refusal")).to_have_text("")
    page.get_by_role("button", name="remove cold").click()
    expect(page.locator("#joins tbody tr")).to_have_count(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", default=shutil.which("chromium"), help="the executable of Chromium")
    parser.add_argument("--picture", type=Path, help="write a picture of the page")
    options = parser.parse_args()
    from playwright.sync_api import expect, sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server, ports = started(HERE / "server.py", "--folder", folder, "--http", 0, "--udp", 0)
        words = ("--server", f"127.0.0.1:{ports['http']}", "--seconds", 120, "--rate", 5)
        device = subprocess.Popen([sys.executable, *map(str, (HERE / "device.py", *words))], stdout=subprocess.DEVNULL)
        browser = playwright.chromium.launch(executable_path=options.browser, args=["--no-sandbox"])
        errors = []
        try:
            page = browser.new_page(viewport={"width": 1000, "height": 900})
            page.set_default_timeout(TIMEOUT_MS)
            expect.set_options(timeout=TIMEOUT_MS)
            page.on("pageerror", lambda error: errors.append(str(error)))
            while not json.load(urllib.request.urlopen(f"http://127.0.0.1:{ports['http']}/state"))["actuators"]:
                pass
            use(page, ports["http"], expect)
            if options.picture:
                page.screenshot(path=options.picture, full_page=True)
            server.kill()
            expect(page.locator("#status")).to_contain_text("the server is not reached")
        finally:
            browser.close()
            device.kill()
            server.kill()
    if errors:
        raise SystemExit(f"errors of the page: {errors}")
    print("the page does what a user expects")


if __name__ == "__main__":
    main()
