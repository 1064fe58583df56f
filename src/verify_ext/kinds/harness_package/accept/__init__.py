"""Acceptance (L3): a package is driven through the harness's own loop by a structured spec.

`plan` says which steps are taken, `files` looks at what they left, and one module per kind of
component judges: `tools`, `rails`, `skills`, and `sharing` for state. RULES stand in `rules`.
"""
