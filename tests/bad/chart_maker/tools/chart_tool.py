"""Draws charts."""


def draw():
    return "|||"
