"""The cloud behind one port: what we ask of it, how we talk to it, what it sells.

`provider.py` is the port, `transport.py` the only place that retries HTTP, `catalogue.py` what is for sale;
`novita/` alone knows the vendor's words.
"""
