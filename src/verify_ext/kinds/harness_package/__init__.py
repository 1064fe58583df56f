"""Harness packages: a folder with `harness_config.yaml` (openjiuwen, harness_config.v0.1)."""

from __future__ import annotations

from pathlib import Path

from verify_ext.kinds import Draft, Exercise, Kind
from verify_ext.kinds.harness_package import observed
from verify_ext.kinds.harness_package.accept.files import inspect
from verify_ext.kinds.harness_package.accept.judge import judge_acceptance
from verify_ext.kinds.harness_package.accept.plan import ask_to_accept
from verify_ext.kinds.harness_package.acceptance_spec import NAMES
from verify_ext.kinds.harness_package.check import check
from verify_ext.kinds.harness_package.first_spec import first_spec
from verify_ext.kinds.harness_package.judge import (
    ask_to_construct,
    ask_to_load,
    judge_construct,
    judge_load,
)
from verify_ext.model import Layer, Verdict

KIND = Kind(
    name="harness-package",
    manifest_names=("harness_config.yaml",),
    check=check,
    job=Path(__file__).with_name("job"),
    exercises=(
        Exercise(
            name="construct",
            layer=Layer.L1,
            ask=ask_to_construct,
            judge=judge_construct,
            observed_schema=observed.CONSTRUCT,
            component_types=("rail", "tool"),
        ),
        Exercise(
            name="load",
            layer=Layer.L2,
            ask=ask_to_load,
            judge=judge_load,
            observed_schema=observed.LOAD,
            component_types=("rail", "tool", "skill"),
        ),
        Exercise(
            name="accept",
            layer=Layer.L3,
            ask=ask_to_accept,
            judge=judge_acceptance,
            observed_schema=observed.ACCEPT,
            component_types=("rail", "tool", "skill"),
            inspect=inspect,
            absent=Verdict.UNCHECKED,
        ),
    ),
    draft=Draft(file_names=NAMES, exercise="construct", write=first_spec),
)
