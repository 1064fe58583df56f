"""Sends a Report where people look: the terminal, and on GitHub annotations and the job summary."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping

from verify_ext.model import Report, Severity


def show(report: Report) -> None:
    """Print the console report on standard output, in colour on a terminal."""
    from verify_ext.report import console

    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else 100
    color = terminal and "NO_COLOR" not in os.environ
    text = console.render(report, width=width, color=color)
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def publish(report: Report, environment: Mapping[str, str] = os.environ) -> None:
    """Print the console report; in a GitHub workflow also annotations, job summary and outputs."""
    show(report)
    if environment.get("GITHUB_ACTIONS") != "true":
        return
    from verify_ext.report import annotations, summary

    print(annotations.render(report), flush=True)
    _append(environment.get("GITHUB_STEP_SUMMARY"), summary.render(report))
    _append(environment.get("GITHUB_OUTPUT"), "".join(f"{name}={value}\n" for name, value in outputs(report)))


def outputs(report: Report) -> list[tuple[str, str]]:
    """Return the action's outputs; all values are words or numbers of ours, none an extension's."""
    counted = {level: sum(each.severity is level for each in report.findings) for level in Severity}
    return [
        ("decision", report.gate.decision.value),
        ("exit-code", str(report.gate.exit_code)),
        ("extensions", str(len(report.extensions))),
        ("errors", str(counted[Severity.ERROR])),
        ("warnings", str(counted[Severity.WARNING])),
        ("notices", str(counted[Severity.NOTICE])),
    ]


def _append(path: str | None, text: str) -> None:
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
    except OSError as error:
        print(f"verify-ext: cannot write {path}: {error.strerror}", file=sys.stderr)
