"""Readings asked of a model: over a server that speaks OpenAI's protocol, or on this machine."""
