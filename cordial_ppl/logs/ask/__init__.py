"""Readings asked of a model: over a server that speaks OpenAI's protocol, or on this machine.

`questions` are what is asked: a `prompt` for every text, with the options in every order. `asking`
puts them to a `model`, keeps every answer in a `cache`, and makes records of them, which are read
as those of a log are.
"""
