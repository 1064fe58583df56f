"""One report with everything odd in it, and strategies for reports that are odder still."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from verify_ext.model import (
    Artifact,
    Component,
    Decision,
    ExtensionResult,
    ExtensionRun,
    Fault,
    Finding,
    Gate,
    HarnessState,
    Layer,
    Location,
    Provenance,
    Report,
    Severity,
    Verdict,
)

OLD, NEW = "openjiuwen==0.1.16", "openjiuwen==0.1.19.post2"
DECK = "openjiuwen/extensions/harness/deck_maker"
HOSTILE = "openjiuwen/extensions/harness/a|b`c::error::<img src=x>@octocat#1"
L1, L2, L3 = Layer.L1, Layer.L2, Layer.L3

_log = "Traceback (most recent call last):\n" + "".join(f'  File "tool.py", line {n}\n' for n in range(20))

FINDINGS = (
    Finding(
        code="harness_environment_broken",
        rule="canary-failed",
        fault=Fault.ENVIRONMENT,
        severity=Severity.ERROR,
        layer=None,
        message="Our own extension does not load in openjiuwen==0.1.19.post2.",
        remedy="Nothing in the repository: the environment must be built again.",
        location=Location(path=".verify-ext.yml"),
        harness=NEW,
        fingerprint="f00",
    ),
    Finding(
        code="manifest_invalid",
        rule="schema-version",
        fault=Fault.EXTENSION,
        severity=Severity.ERROR,
        layer=L1,
        message="The schema version is not one that the harness reads: it drops the package without a word.",
        remedy="Write `schema_version: harness_config.v0.1`.",
        location=Location(
            path=f"{DECK}/harness_config.yaml",
            line=1,
            column=17,
            end_line=1,
            end_column=21,
            text="schema_version: v2.0  # 版本",
        ),
        extension=DECK,
        expected="harness_config.v0.1",
        actual="the string 'v2.0'",
        fingerprint="f01",
    ),
    *(
        Finding(
            code="tool_not_registered",
            rule="not-in-ability-manager",
            fault=Fault.EXTENSION,
            severity=Severity.ERROR,
            layer=L2,
            message="DeckTool was constructed, but the agent does not offer it.",
            remedy="Return a ToolCard with an id and a name.",
            location=Location(
                path=f"{DECK}/tools/deck_tool.py",
                line=12,
                column=2,
                end_line=15,
                end_column=1,
                text="\tdef __init__(self) -> None:",
            ),
            extension=DECK,
            component="tool:DeckTool",
            harness=harness,
            reproduction=f"verify-ext verify {DECK} --harness {harness}",
            provenance=Provenance.OBSERVED,
            fingerprint="f02",
        )
        for harness in (OLD, NEW)
    ),
    Finding(
        code="extension_crashed",
        rule="signal",
        fault=Fault.EXTENSION,
        severity=Severity.ERROR,
        layer=L3,
        message="\x1b[31mSIGSEGV\x1b[0m\r\n::error file=x::injected\n"
        "##[add-mask]e\u202eevil \udc80 \u200b @octocat fixes #123",
        remedy="See the log; <b>do not</b> trust [this](https://example.org) or "
        "www.example.org | $x$ *a* _b_ `a|b` `c`.",
        location=Location(
            path=f"{HOSTILE}/long.py",
            line=7,
            column=310,
            end_line=7,
            end_column=316,
            text=("x = '工具'; " * 40)[:400],
        ),
        extension=HOSTILE,
        component="tool:`rm -rf`|",
        harness=OLD,
        expected="a result\non two lines",
        actual="#\u200b#[error]no\t```\n</pre><script>",
        log=f"\x1b]0;title\x07{_log}::set-output name=a::b\n##[group]x\n</pre>|`@octocat",
        provenance=Provenance.OBSERVED,
        fingerprint="f03",
    ),
    Finding(
        code="artifact_placeholder_output",
        rule="too-long",
        fault=Fault.EXTENSION,
        severity=Severity.WARNING,
        layer=L3,
        message="这个工具写了一个占位文件，" * 400,
        remedy="Write the real file.",
        location=Location(path=f"{HOSTILE}/a:b,c%.py", line=3, column=1, end_line=4, end_column=1),
        extension=HOSTILE,
        fingerprint="f04",
    ),
    Finding(
        code="skill_manifest_invalid",
        rule="description-missing",
        fault=Fault.EXTENSION,
        severity=Severity.ERROR,
        layer=L1,
        message="The skill has no description.",
        remedy="Write one.",
        location=Location(path=f"{DECK}/skills/deck/SKILL.md", line=2, text="name: deck"),
        extension=DECK,
        component="skill:deck",
        fingerprint="f05",
        suppressed="known, see #77 | until 2027",
    ),
    *(
        Finding(
            code="acceptance_spec_missing",
            rule="none",
            fault=Fault.SPEC,
            severity=Severity.NOTICE,
            layer=L3,
            message=f"There is no acceptance spec, number {number}.",
            remedy="`verify-ext init` writes one.",
            location=Location(path=f"gone/ext_{number:02}/harness_config.yaml"),
            extension=f"gone/ext_{number:02}",
            fingerprint=f"n{number:02}",
        )
        for number in range(12)
    ),
)

REPORT = Report(
    tool_version="0.1.0",
    commit="4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    dirty=True,
    gate=Gate(
        decision=Decision.REJECT,
        exit_code=1,
        reasons=(f"{DECK}: L1 fail", f"{HOSTILE}: L3 fail\n## not a heading"),
    ),
    extensions=(
        ExtensionResult(
            path=DECK,
            name="deck_maker",
            kind="harness-package",
            digest="sha256:" + "0" * 64,
            layers={L1: Verdict.FAIL, L2: Verdict.FAIL, L3: Verdict.UNCHECKED},
            runs=(
                ExtensionRun(
                    harness=OLD,
                    layers={L2: Verdict.FAIL},
                    components=(
                        Component(
                            type="tool", name="DeckTool", verdicts={L1: Verdict.PASS, L2: Verdict.FAIL}
                        ),
                    ),
                    artifacts=(
                        Artifact(
                            path="review.pptx",
                            format="pptx",
                            sha256="1" * 64,
                            provenance=Provenance.VERIFIED,
                            facts={"slides": 1, "titles": ["第一页"], "ratio": 0.5},
                        ),
                    ),
                ),
                ExtensionRun(harness=NEW, layers={L2: Verdict.ERROR, L3: Verdict.TIMED_OUT}),
            ),
        ),
        ExtensionResult(
            path=HOSTILE,
            name="a|b",
            kind="harness-package",
            digest="sha256:" + "2" * 64,
            layers={L1: Verdict.PASS, L2: Verdict.PASS, L3: Verdict.FAIL},
            runs=(ExtensionRun(harness=OLD, layers={L2: Verdict.PASS, L3: Verdict.FAIL}),),
        ),
        ExtensionResult(
            path="skills/summary",
            name="summary",
            kind="agent-skill",
            digest="sha256:" + "3" * 64,
            layers={L1: Verdict.PASS, L2: Verdict.SKIPPED, L3: Verdict.UNCERTAIN},
        ),
    ),
    findings=FINDINGS,
    harnesses=(
        HarnessState(
            requirement=OLD, contract="labels", canary=Verdict.PASS, fingerprint="sha256:" + "4" * 64
        ),
        HarnessState(requirement=NEW, contract=None, canary=Verdict.FAIL, fingerprint=None),
    ),
    protections={"network": "none", "landlock": 7, "seccomp": True, "no_new_privs": False, "uid": 65534},
    evidence={"head": "a" * 64, "count": 41},
    timing={"prepare": 4.25, "verify": 1.5},
)


# --- Strategies ------------------------------------------------------------------------------

FRAGMENTS = [
    "::error::", "::error file=a,line=1::", "::stop-commands::t", "::add-mask::x",
    "##[error]", "##[group]a", "#", "##", "[error]", "[", "]", ":", "::",
    "%0A", "%0a", "%25", "%", "%3A", ",", "=", "\n", "\r", "\r\n", "\t", " ",
    "\u200b", "\ufeff", "\u00ad", "\ufe0f", "\u034f", "\u202e", "\u2066", "\u2028", "\u0085",
    "\x00", "\x1b[2J", "\x9b", "\x7f", "\udc80", "\u0301", "\u3000", "\u00a0",
    "工具", "😀", "⚠\ufe0f", "`", "``", "```", "|", "\\",
    "*", "**", "_", "~~", "$", "$$", "<", ">", "<b>", "</details>", "</pre>", "<!--", "-->",
    "&amp;", "&#10;", "[x](y)", "![", "@octocat", "#123", "GH-1", "a/b#2", "https://x.org",
    "www.x.org", ":+1:", "- ", "1. ", "# ", "> ", "---", "===", "    ", "[bold]", "[/]",
    "a", "B", "0", ".", "é", "\U000e0041",
]  # fmt: skip

odd_text = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=4)), max_size=8).map("".join)
maybe_text = st.none() | odd_text
numbers = st.integers(1, 2**31 - 1)
verdicts = st.sampled_from(Verdict)
layers = st.dictionaries(st.sampled_from(Layer), verdicts)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | odd_text,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(odd_text, below, max_size=3),
    max_leaves=6,
)
facts = st.dictionaries(odd_text, json_values, max_size=3)

locations = st.builds(
    Location,
    path=odd_text.map(lambda text: text or "a"),
    line=numbers,
    column=st.integers(1, 500),
    end_line=numbers,
    end_column=st.integers(1, 500),
    text=odd_text,
)
findings = st.builds(
    Finding,
    code=st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True),
    rule=st.from_regex(r"[a-z0-9][a-z0-9-]{0,20}", fullmatch=True),
    fault=st.sampled_from(Fault),
    severity=st.sampled_from(Severity),
    layer=st.none() | st.sampled_from(Layer),
    message=odd_text,
    remedy=odd_text,
    location=locations,
    extension=maybe_text,
    component=maybe_text,
    harness=maybe_text,
    expected=maybe_text,
    actual=maybe_text,
    reproduction=maybe_text,
    log=maybe_text,
    provenance=st.sampled_from(Provenance),
    fingerprint=odd_text,
    suppressed=maybe_text,
)
_components = st.builds(Component, type=odd_text, name=odd_text, verdicts=layers)
_artifacts = st.builds(
    Artifact,
    path=odd_text,
    format=odd_text,
    sha256=odd_text,
    provenance=st.sampled_from(Provenance),
    facts=facts,
)
_runs = st.builds(
    ExtensionRun,
    harness=maybe_text,
    layers=layers,
    components=st.lists(_components, max_size=2).map(tuple),
    artifacts=st.lists(_artifacts, max_size=2).map(tuple),
)
_extensions = st.builds(
    ExtensionResult,
    path=odd_text.map(lambda text: text or "."),
    name=odd_text,
    kind=odd_text,
    digest=odd_text,
    layers=layers,
    runs=st.lists(_runs, max_size=2).map(tuple),
)
reports = st.builds(
    Report,
    tool_version=odd_text,
    commit=maybe_text,
    dirty=st.none() | st.booleans(),
    gate=st.builds(
        Gate,
        decision=st.sampled_from(Decision),
        exit_code=st.integers(0, 255),
        reasons=st.lists(odd_text, max_size=3).map(tuple),
    ),
    extensions=st.lists(_extensions, max_size=2).map(tuple),
    findings=st.lists(findings, max_size=4).map(tuple),
    harnesses=st.lists(
        st.builds(
            HarnessState, requirement=odd_text, contract=maybe_text, canary=verdicts, fingerprint=maybe_text
        ),
        max_size=2,
    ).map(tuple),
    protections=facts,
    evidence=st.fixed_dictionaries({"head": maybe_text, "count": st.integers(0, 10**6)}),
    timing=st.dictionaries(odd_text, st.floats(allow_nan=False, allow_infinity=False), max_size=2),
)


def many(count: int) -> Report:
    """Return a report with `count` findings in 50 extensions."""
    one = FINDINGS[1]
    made = tuple(
        Finding(
            **{
                **vars(one),
                "severity": tuple(Severity)[number % 3],
                "message": f"{one.message} Number {number}.",
                "location": Location(
                    **{**vars(one.location), "path": f"ext_{number % 50}/a.yaml", "line": number + 1}
                ),
                "extension": f"ext_{number % 50}",
                "log": _log if number % 5 == 0 else None,
                "fingerprint": f"{number:032x}",
            }
        )
        for number in range(count)
    )
    return Report(**{**vars(REPORT), "findings": made})
