"""HTTP in: routes beside their models, one table of problems, the doors and who may pass them.

Routes translate and do not decide; what they answer comes from the use cases and the catalogue.
"""
