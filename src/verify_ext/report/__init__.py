"""Outputs of a run: one module each, every one a pure function of a Report.

`results` is the data that all others can be made from again; `console`, `annotations` and
`summary` are text for people. An output takes what is common from `phrases` (order, counts, the
gate in a sentence) and `text` (making a stranger's text visible), and escapes for its own format.
Sending anything anywhere happens elsewhere.
"""
