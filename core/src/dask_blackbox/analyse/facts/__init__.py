"""Typed facts of a run, each derived once from the tables, without any wording."""
