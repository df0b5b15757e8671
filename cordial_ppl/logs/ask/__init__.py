"""Readings asked of a model: over a server that speaks OpenAI's protocol, or on this machine.

`prompt` writes a question about a text, with the options in several orders. `asking` puts the
questions to a model, `chat` or `local`, keeps every answer in a file, and makes records of them.
"""
