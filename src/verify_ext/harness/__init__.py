"""The trusted side of a real harness: environments, sessions, the canary.

An environment holds one harness and nothing else; what an extension requires lies beside it
(`environments`, `overlays`). In it runs a fork server (`session`), proved by our own package before
anybody is judged (`ready`). Nothing in this package imports the harness or an extension.
"""
