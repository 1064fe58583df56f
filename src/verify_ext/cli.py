"""The command line: arguments to use cases, outcomes to exit codes (evidence/gate.py has the codes)."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from verify_ext import __version__
from verify_ext.exit_codes import EXIT_BUG, EXIT_NOTHING, EXIT_UNDECIDED, EXIT_USAGE

if TYPE_CHECKING:
    from verify_ext.config import Options
    from verify_ext.events import EventLog
    from verify_ext.model import Report

COMMANDS = ("run", "prepare", "verify", "report", "init", "artifact", "explain", "doctor")

_EPILOG = """\
Plain `verify-ext PATHS` is prepare, verify and report in a row.

exit codes:
  0  everything that is required passed
  1  an extension (or its acceptance spec) is at fault
  2  usage or configuration error
  3  nothing was found to verify
  4  undecided: an environment or a harness is at fault, not your change
  5  a bug in verify-ext
"""


class Cancelled(BaseException):
    """SIGINT or SIGTERM came; what is done so far is still reported."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the end
        # Whatever an extension is called can be shown, in whatever encoding.
        getattr(sys, name).reconfigure(errors="backslashreplace")
    try:
        code = run(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output is gone, as with `| head`
        code = 128 + signal.SIGPIPE
    except Exception:  # noqa: BLE001 - ours, wherever it happened: never 1, which blames an extension
        with contextlib.suppress(OSError):
            traceback.print_exc()
        code = EXIT_BUG
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    # Not sys.exit: the interpreter would flush again, fail again, and exit with a code of its own.
    if code == EXIT_BUG or code > 128:
        os._exit(code)
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    if not arguments or arguments[0] not in (*COMMANDS, "-h", "--help", "--version"):
        arguments = ["run", *arguments]
    parsed = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = parsed.command
    return command(parsed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="verify-ext",
        description="Proves that agent extensions load in the real harness; says whose fault a failure is.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"verify-ext {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, use, text in (
        ("run", _run, "prepare, verify and report (what plain PATHS do)"),
        ("prepare", _prepare, "build the harness environments that the extensions need; needs an index"),
        ("verify", _verify, "verify in prepared environments; needs no network"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(command=use)
        _add_selection(command)
        if name != "prepare":
            _add_running(command)
    doctor = commands.add_parser(
        "doctor", help="say what works on this machine, and what to do about the rest"
    )
    doctor.set_defaults(command=_doctor)
    _add_selection(doctor)
    report = commands.add_parser("report", help="show the results of an earlier verify")
    report.add_argument("results", type=Path, metavar="RESULTS", help="the results.json that verify wrote")
    report.set_defaults(command=_report)
    init = commands.add_parser(
        "init", help="write a first acceptance spec, made from the cards of an extension's own tools"
    )
    init.set_defaults(command=_init)
    _add_selection(init)
    artifact = commands.add_parser(
        "artifact",
        help="say whether files are what they claim to be: PPTX, DOCX, XLSX, PDF, images, JSON, CSV, ZIP",
    )
    artifact.set_defaults(command=_artifact)
    artifact.add_argument("files", nargs="+", type=Path, metavar="FILE")
    artifact.add_argument(
        "--format", metavar="FORMAT", help="what they must be (default: what their names say)"
    )
    artifact.add_argument("--output", type=Path, metavar="FILE", help="write results.json here")
    explain = commands.add_parser("explain", help="explain a code or a rule")
    explain.add_argument("name", metavar="CODE[/RULE]")
    explain.set_defaults(command=_explain)
    return parser


def _add_selection(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="folders to walk, extensions or manifests (default: .)",
    )
    add("--repo", type=Path, metavar="DIR", help="root of the repository (default: git's)")
    add(
        "--harness",
        action="append",
        default=[],
        metavar="openjiuwen==X",
        help="harness version to verify in; repeat for several (default: the repo's pin, else the newest)",
    )
    add("--harness-python", type=Path, metavar="PATH", help="verify in this interpreter's installed harness")
    add("--cache", type=Path, metavar="DIR", help="where environments are kept (default: $VERIFY_EXT_CACHE)")


def _add_running(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--static", action="store_true", help="only read (L1); execute nothing, need no harness")
    add(
        "--timeout", type=_seconds, default=60.0, metavar="SECONDS", help="deadline of each job (default: 60)"
    )
    add(
        "--repeat",
        type=_count,
        default=1,
        metavar="N",
        help="take each tool test N times; results must not differ",
    )
    add("--output", type=Path, metavar="FILE", help="write results.json here")
    add(
        "--require-protections",
        action="store_true",
        help="judge nothing where a part of the jail is missing",
    )
    add("--allow-empty", action="store_true", help="finding no extension is a success")


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text[:9]) <= 20:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 1 and 20")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 86400 seconds")
    return value


def _options(parsed: argparse.Namespace, *, offline: bool) -> Options:
    from verify_ext.config import Options, default_cache
    from verify_ext.harness.outcome import Limits

    return Options(
        paths=tuple(parsed.paths) or (Path("."),),
        repo=_resolved(parsed.repo) if parsed.repo else None,
        harnesses=tuple(parsed.harness),
        harness_python=parsed.harness_python,
        static=getattr(parsed, "static", False),
        offline=offline,
        cache=_resolved(parsed.cache or default_cache()),
        limits=Limits(deadline_s=getattr(parsed, "timeout", 60.0)),
        allow_empty=getattr(parsed, "allow_empty", False),
        repeat=getattr(parsed, "repeat", 1),
        require_protections=getattr(parsed, "require_protections", False),
    )


def _resolved(path: Path) -> Path:
    """Return a path without links; one that leads in a circle as it is, for whoever opens it to refuse."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()


def _run(parsed: argparse.Namespace) -> int:
    from verify_ext.report.publish import publish

    return _verified(parsed, publish, offline=False)


def _verify(parsed: argparse.Namespace) -> int:
    from verify_ext.report.publish import show

    return _verified(parsed, show, offline=True)


def _verified(parsed: argparse.Namespace, send: Callable[[Report], None], *, offline: bool) -> int:
    from verify_ext.pipeline import verify

    options = _options(parsed, offline=offline)
    return _shown(parsed, lambda log: verify(options, log), send)


def _artifact(parsed: argparse.Namespace) -> int:
    from verify_ext.artifacts import all_formats
    from verify_ext.artifacts.command import examine_files
    from verify_ext.report.publish import show

    names = [known.name for known in all_formats()]
    if parsed.format is not None and parsed.format not in names:
        print(f"verify-ext: --format {parsed.format!r}: known are {', '.join(names)}", file=sys.stderr)
        return EXIT_USAGE
    return _shown(parsed, lambda log: examine_files(parsed.files, parsed.format, log), show)


def _shown(
    parsed: argparse.Namespace, use_case: Callable[[EventLog], None], send: Callable[[Report], None]
) -> int:
    """Run a use case, write its results where they were asked for, and show them."""
    try:
        if parsed.output:  # known before the work is done; and nobody takes an old file for a new one
            _write(parsed.output, "")
            parsed.output.unlink()
        report = _recorded(use_case)
        if parsed.output:
            from verify_ext.report import results

            _write(parsed.output, results.dump(report))
    except OutputError as error:
        print(f"verify-ext: {error}", file=sys.stderr)
        return EXIT_USAGE
    send(report)
    return report.gate.exit_code


class OutputError(Exception):
    """The file that was asked for cannot be written."""


def _write(path: Path, text: str) -> None:
    """Write a whole file or none. Raises OutputError."""
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise OutputError(f"cannot write {path}: it is there already, and no regular file")
        draft = path.with_name(f".verify-ext-{os.getpid()}")
        try:
            draft.write_text(text, encoding="utf-8")
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a path without a name
        raise OutputError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None


def _prepare(parsed: argparse.Namespace) -> int:
    from verify_ext.model import Fault
    from verify_ext.pipeline import prepare

    options = _options(parsed, offline=False)
    report = _recorded(lambda log: prepare(options, log))
    _print_findings(report)
    # What an extension is to blame for is said again by verify, which also decides about it.
    blamed = {finding.fault for finding in report.findings if finding.severity == "error"} - {Fault.EXTENSION}
    cancelled = report.gate.exit_code > 128
    return report.gate.exit_code if blamed or cancelled else 0


def _init(parsed: argparse.Namespace) -> int:
    from verify_ext.initialize import Said, initialize
    from verify_ext.report.text import inert, visible

    options = _options(parsed, offline=False)
    said: list[Said] = []
    report = _recorded(lambda log: said.extend(initialize(options, log)))
    _print_findings(report)
    for each in said:
        print(inert(visible(each.text)))
    if any(each.failed for each in said):
        return EXIT_USAGE
    there_already = said and report.gate.exit_code == EXIT_NOTHING
    return 0 if there_already else report.gate.exit_code


def _print_findings(report: Report) -> None:
    from verify_ext.report.annotations import log_line

    for finding in report.findings:
        if finding.severity == "error":
            print(f"{log_line(finding)}\n  {finding.remedy}")


def _recorded(use_case: Callable[[EventLog], None]) -> Report:
    """Run a use case, cut short by SIGINT or SIGTERM, and return the Report of what was done."""
    from verify_ext.bugs import unexpected
    from verify_ext.events import EventLog, Finished, TroubleFound, fold
    from verify_ext.report.progress import Progress

    started = time.monotonic()
    cancelled_by: int | None = None
    with Progress(sys.stderr) as progress, _cancellable():
        log = EventLog(progress.show)
        try:
            use_case(log)
        except Cancelled as cancelled:
            cancelled_by = cancelled.number
        except Exception as error:  # noqa: BLE001 - our own bug: said as such, and what was found out is kept
            log.append(TroubleFound(finding=unexpected(error)))
    log.append(
        Finished(cancelled_by=cancelled_by, timing=(("seconds", round(time.monotonic() - started, 3)),))
    )
    return fold(log.events())


@contextlib.contextmanager
def _cancellable() -> Iterator[None]:
    """Turn the first SIGINT or SIGTERM into Cancelled; the second one ends the process."""

    def cancel(number: int, _: object) -> None:
        for each in before:
            signal.signal(each, signal.SIG_DFL)
        with contextlib.suppress(OSError, ValueError):
            print("verify-ext: cancelling; what is done is reported", file=sys.stderr, flush=True)
        raise Cancelled(number)

    before = {number: signal.signal(number, cancel) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report(parsed: argparse.Namespace) -> int:
    from verify_ext.evidence.gate import contradiction
    from verify_ext.report import results
    from verify_ext.report.publish import publish
    from verify_ext.source import SourceError, read_source

    try:
        # The operator's own path may be a link; strangers' files are never followed.
        source = read_source(_resolved(parsed.results), str(parsed.results), limit=results.LIMIT_BYTES)
        report = results.load(source.text)
        problem = contradiction(report)
        if problem is not None:
            raise results.ResultsError(f"the results contradict themselves: {problem}")
    except (SourceError, results.ResultsError) as error:
        print(f"verify-ext: {parsed.results}: {error}", file=sys.stderr)
        return EXIT_USAGE
    publish(report)
    return report.gate.exit_code


def _doctor(parsed: argparse.Namespace) -> int:
    from verify_ext.doctor import examine
    from verify_ext.report.text import inert, visible

    checkup = examine(_options(parsed, offline=True))
    for line in checkup.lines:
        print(inert(visible(line)))
    return EXIT_UNDECIDED if checkup.troubles else 0


def _explain(parsed: argparse.Namespace) -> int:
    from verify_ext.explain import UnknownNameError, explain

    try:
        print(explain(parsed.name))
    except UnknownNameError as error:
        print(f"verify-ext: {error}", file=sys.stderr)
        return EXIT_USAGE
    return 0


if __name__ == "__main__":
    main()
