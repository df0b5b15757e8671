"""Readings asked of a model: over a server that speaks OpenAI's protocol, or on this machine.

`questions` are what is asked: a `prompt` for every text, with the options in every order.  `asking`
puts them to a `server`, `scoring` to a `local` model; both keep every answer in a `cache`, from
which `records` are made, to be read as those of a log are.
"""
