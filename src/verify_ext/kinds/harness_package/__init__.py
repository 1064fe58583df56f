"""Harness packages: a folder with `harness_config.yaml` (openjiuwen, harness_config.v0.1)."""

from __future__ import annotations

from pathlib import Path

from verify_ext.kinds import Exercise, Kind
from verify_ext.kinds.harness_package import observed
from verify_ext.kinds.harness_package.check import check
from verify_ext.kinds.harness_package.judge import (
    construct_request,
    judge_construct,
    judge_load,
    load_request,
)
from verify_ext.model import Layer

KIND = Kind(
    name="harness-package",
    manifest_names=("harness_config.yaml",),
    check=check,
    job=Path(__file__).with_name("job.py"),
    exercises=(
        Exercise(
            name="construct",
            layer=Layer.L1,
            request=construct_request,
            judge=judge_construct,
            observed_schema=observed.CONSTRUCT,
            component_types=("rail", "tool"),
        ),
        Exercise(
            name="load",
            layer=Layer.L2,
            request=load_request,
            judge=judge_load,
            observed_schema=observed.LOAD,
            component_types=("rail", "tool", "skill"),
        ),
    ),
)
