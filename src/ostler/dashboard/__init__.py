"""The web pages: what a person sees of Ostler in a browser.

Pages hold no facts of their own: they are filled from the same HTTP API that everybody uses.
"""
