"""Estimates over many texts: what labels of some and readings of all say of their mean."""
