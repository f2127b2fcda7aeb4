"""Where the three families of the cloud's API live.

The first two are about machines; the third, for money and metrics, serves the vendor's other products too.
"""

V1 = "/gpu-instance/openapi/v1"
V2 = "/gpus/v2"
BASIC = "/openapi/v1"
