"""Writes on the descriptor for results, where only the job itself should."""

from pathlib import Path

from tests.attacks.catalogue import attack, run_code

MALFORMED = "extension_crashed/malformed-result"
NO_RESULT = "extension_crashed/no-result"
NOT_REPORTED = "extension_crashed/component-not-reported"

_SUCCESS = """
import json

PARAMETERS = {"type": "object", "properties": {}}
CARD = {"id": "verify_ext_canary_tool", "name": "verify_ext_canary_tool", "given": ["id", "name", "input_params"],
        "parameters": PARAMETERS, "parameters_problem": None}
CONSTRUCTED = {"components": [
    {"id": "rail:CanaryRail", "error": None, "card": None, "is_rail": True, "is_tool": False},
    {"id": "tool:CanaryTool", "error": None, "card": CARD, "is_rail": False, "is_tool": True},
]}
PREFIX = "openjiuwen.extensions.harness.verify_ext_canary."
LOADED = {
    "error": None, "classes": {}, "labels": ["rail:CanaryRail", "tool:CanaryTool", "skill_dir:skills"],
    "cards": [{"id": "1", "name": "verify_ext_canary_tool",
               "tool": {"class": "CanaryTool", "module": PREFIX + "tools.canary_tool"}}],
    "rails": [{"class": "CanaryRail", "module": PREFIX + "rails.canary_rail"}], "skill_dirs": ["skills"],
    "skills": [{"name": "canary-skill", "folder": "skills/canary-skill",
                "description": "Proves that a skill reaches the model with its own description."}],
    "unload": {"error": None, "left": {}},
}

def result(observed, **more):
    return json.dumps({"type": "result", "observed": observed, "imported": [], **more}).encode()

def in_load():
    \"\"\"The second job loads the package; in the first the class loader alone is at work.\"\"\"
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "_load":
            return True
        frame = frame.f_back
    return False
"""


def _forge(package: Path, code: str) -> None:
    import textwrap

    run_code(package, _SUCCESS + textwrap.dedent(code))


@attack(limit="it writes what the harness would have written, in the process that it shares with it")
def success_for_itself(package: Path) -> None:
    """Writes a perfect result for itself and leaves, though it cannot be imported. It lies about itself alone."""
    _forge(package, "say(result(LOADED if in_load() else CONSTRUCTED))\nos._exit(0)")


@attack(NO_RESULT)
def success_before_it_crashes(package: Path) -> None:
    """Writes a perfect result and then dies. What does not end well has no result."""
    _forge(package, "say(result(CONSTRUCTED))\nos.kill(os.getpid(), 11)")


@attack(NO_RESULT)
def success_with_a_wrong_status(package: Path) -> None:
    """Writes a perfect result and leaves with status 3. What does not end well has no result."""
    _forge(package, "say(result(CONSTRUCTED))\nos._exit(3)")


@attack(MALFORMED)
def second_result(package: Path) -> None:
    """Writes a result and lets the job write its own too. Two results are none."""
    _forge(package, "say(result(CONSTRUCTED))")


@attack(NOT_REPORTED)
def result_about_another(package: Path) -> None:
    """Reports components of another extension, not its own. They count for nobody."""
    _forge(
        package,
        """
        others = {"components": [{**each, "id": each["id"].replace("Canary", "Deck")} for each in CONSTRUCTED["components"]]}
        say(json.dumps({"type": "progress", "component": "tool:DeckTool", "stage": "import"}).encode())
        say(result(others, extension="neighbour", path="../neighbour"))
        os._exit(0)
        """,
    )


@attack(NO_RESULT)
def blame_on_another(package: Path) -> None:
    """Says before it dies that it was at work on a component of another extension. It is blamed itself."""
    _forge(
        package,
        """
        say(json.dumps({"type": "progress", "component": "tool:DeckTool\\n::error::x", "stage": "import"}).encode())
        os._exit(0)
        """,
    )


@attack(MALFORMED)
def longer_than_it_says(package: Path) -> None:
    """Frames whose length is a lie, negative, huge or no number. Not a result."""
    _forge(package, 'say(b"{}", size=10**15)\nos._exit(0)')


@attack(MALFORMED)
def length_in_other_digits(package: Path) -> None:
    """A length in digits of another script, which Python would take for a number. Not a result."""
    _forge(package, 'os.write(3, "٣\\n{}".encode() + b"x" * 10)\nos._exit(0)')


@attack(MALFORMED)
def not_json(package: Path) -> None:
    """A frame that is not JSON. Not a result."""
    _forge(package, "say(b\"{'type': 1}\")\nos._exit(0)")


@attack(MALFORMED)
def not_an_object(package: Path) -> None:
    """A frame that is a list. Not a result."""
    _forge(package, 'say(b"[]")\nos._exit(0)')


@attack(MALFORMED)
def nested_without_end(package: Path) -> None:
    """A hundred thousand lists in each other, to exhaust the reader's stack. Not a result."""
    _forge(
        package,
        'say(b\'{"type": "result", "observed": {"components": \' + b"[" * 100000 + b"]" * 100000 + b"}}")\nos._exit(0)',
    )


@attack(MALFORMED)
def nested_deep_enough(package: Path) -> None:
    """Nested as deep as JSON can just be read, to exhaust the stack of who looks at it next. Not a result."""
    _forge(
        package,
        """
        deep = b'{"a":' * 900 + b"1" + b"}" * 900
        forged = result(CONSTRUCTED).replace(b'"properties": {}', b'"properties": ' + deep)
        say(forged)
        os._exit(0)
        """,
    )


@attack(MALFORMED)
def wrong_types(package: Path) -> None:
    """Fields of other types than the job's. Not a result."""
    _forge(package, 'say(result({"components": {"id": 1}}))\nos._exit(0)')


@attack(MALFORMED)
def not_a_number(package: Path) -> None:
    """NaN and infinity, which JSON does not have and no comparison likes. Not a result."""
    _forge(
        package,
        """
        frame = {"file": "tools/canary_tool.py", "line": 1, "function": "x"}
        error = {"type": "E", "message": "m", "stage": "import", "missing_module": None, "frames": [frame]}
        forged = {"components": [{**CONSTRUCTED["components"][0], "error": error}]}
        say(result(forged).replace(b'"line": 1', b'"line": NaN'))
        os._exit(0)
        """,
    )


@attack(MALFORMED)
def numbers_that_are_no_lines(package: Path) -> None:
    """Line numbers that are floats, booleans, negative or huge. Not a result, or no place."""
    _forge(
        package,
        """
        frames = [{"file": "tools/canary_tool.py", "line": line, "function": "x"} for line in (1e300, 1.0, True, -1, 10**30)]
        error = {"type": "E", "message": "m", "stage": "import", "missing_module": None, "frames": frames}
        say(result({"components": [{**CONSTRUCTED["components"][0], "error": error}]}))
        os._exit(0)
        """,
    )


@attack("module_import_failed/import-raised", NOT_REPORTED)
def text_that_cannot_be_encoded(package: Path) -> None:
    """Half surrogates, NUL and control characters in every text. They are shown, not obeyed."""
    _forge(
        package,
        """
        odd = "\\ud800 \\0 \\x1b[2J \\r\\n::error::forged \\u202e"
        error = {"type": odd, "message": odd, "stage": "import", "missing_module": None,
                 "frames": [{"file": odd, "line": 1, "function": odd}]}
        say(result({"components": [{**CONSTRUCTED["components"][0], "error": error}]}))
        os._exit(0)
        """,
    )


@attack("module_import_failed/import-raised", NOT_REPORTED)
def places_outside(package: Path) -> None:
    """Says that the error is in a line of a secret, which a report would then quote. Only own lines are quoted."""
    _forge(
        package,
        """
        secret = TARGETS["readable"][0]
        files = [secret, "../../../" + secret, "/proc/self/environ", "../" + os.path.basename(TARGETS["neighbour"]), "."]
        error = {"type": "E", "message": "m", "stage": "import", "missing_module": None,
                 "frames": [{"file": file, "line": 1, "function": "x"} for file in files]}
        for file in files:
            root = os.path.dirname(os.path.dirname(__file__))
            say(json.dumps({"type": "progress", "component": "rail:CanaryRail", "stage": file}).encode())
        say(result({"components": [{**CONSTRUCTED["components"][0], "error": error}]}))
        os._exit(0)
        """,
    )


@attack(NOT_REPORTED)
def attempts_of_others(package: Path) -> None:
    """Reports attempts in files that are not its own. No line of those files is shown."""
    _forge(
        package,
        """
        root = os.path.dirname(os.path.dirname(__file__))
        for file in (TARGETS["readable"][0], f"{root}/../../..{TARGETS['readable'][0]}", "\\0", root):
            say(json.dumps({"type": "violation", "kind": "file-write", "what": "forged", "file": file, "line": 1}).encode())
        say(result({"components": []}))
        os._exit(0)
        """,
    )


@attack(MALFORMED)
def attempts_without_end(package: Path) -> None:
    """Reports a hundred thousand attempts, each of which would be a finding. Not a result."""
    _forge(
        package,
        """
        word = json.dumps({"type": "violation", "kind": "network", "what": "x", "file": None, "line": 1}).encode()
        frames = b"%d\\n%s" % (len(word), word) * 60000
        while frames:
            frames = frames[os.write(3, frames) :]
        say(result(CONSTRUCTED))
        os._exit(0)
        """,
    )


@attack(NO_RESULT)
def closes_the_descriptor(package: Path) -> None:
    """Closes the descriptor for results. A job that says nothing has no result."""
    _forge(package, "os.close(3)")


@attack(MALFORMED)
def takes_the_result_away(package: Path) -> None:
    """Takes its own frames out of the pipe again, so that whoever is told to read them waits for ever. Nobody waits."""
    _forge(
        package,
        """
        for _ in range(8):
            if os.fork() == 0:
                other = os.open("/proc/self/fd/3", os.O_RDONLY)
                while True:
                    os.read(other, 1)
        for _ in range(4000):
            os.write(3, b"x")
            time.sleep(0.0002)
        os._exit(0)
        """,
    )


@attack(MALFORMED)
def start_that_failed(package: Path) -> None:
    """Says, when its own code already runs, that the job could not be started, which is nobody's fault. It is its own."""
    _forge(
        package,
        """
        say(json.dumps({"type": "unstarted", "problem": "no process could be made"}).encode())
        os._exit(0)
        """,
    )


@attack(MALFORMED)
def start_that_failed_while_loading(package: Path) -> None:
    """The same in the second job, which is at work on no component. It is its own fault there too."""
    _forge(
        package,
        """
        if in_load():
            say(json.dumps({"type": "unstarted", "problem": "no process could be made"}).encode())
            os._exit(0)
        """,
    )


@attack("extension_crashed/job-disturbed")
def failure_in_our_name(package: Path) -> None:
    """Says that the job itself failed, so that verify-ext would be blamed. The package is."""
    _forge(
        package,
        'say(json.dumps({"type": "failed", "problem": "verifier_error\\n::error::no fault of mine"}).encode())\nos._exit(70)',
    )
