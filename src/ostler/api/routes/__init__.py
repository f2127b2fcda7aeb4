"""The routes, one file per noun, each with the models of what it is asked and what it answers.

A handler asks one use case and names its answer. It decides nothing, and it knows no SQL and no cloud.
"""
