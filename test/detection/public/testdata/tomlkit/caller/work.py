"""Reads the settings of sites and counts their ports."""
import tomlkit

SITE = """
title = "site {n}"
[owner]
name = "Ada"
since = 1979-05-27T07:32:00Z
[[server]]
host = "10.0.0.1"
ports = [ 8001, 8002, {n} ]
enabled = true
[[server]]
host = "10.0.0.2"
ports = [ 8001, 8003 ]
weights = {{ cpu = 79.5, case = 72.0 }}
"""


def settings(n):
    return SITE.format(n=n)


def read(text):
    return tomlkit.parse(text)


def ports(site):
    return sum(len(server["ports"]) for server in site["server"])


print(sum(ports(read(settings(n))) for n in range(1400)))
