"""The part that runs inside the harness's interpreter.

Standard library and openjiuwen only: nothing here imports the rest of verify-ext, and the rest
imports nothing from here. They meet in the messages of `protocol.py`.
"""
