"""Reads the files of the control programs and checks them key by key. A mistake is one line with what would be right.

    FORM = Form({"port": integer(0, 510), "mac": mac}, {"mtu": integer(68, 65535)})
    settings = read(path, Form({}, {"interface": tables(FORM)}))

A kind is a function that raises `Wrong` unless a value is of it.
"""

import difflib
import ipaddress
import re

import tomllib


class Wrong(Exception):
    """A mistake in a file; the text names it, and what would be right."""


def integer(low, high):
    def check(value):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Wrong(f"a number from {low} to {high} is right")

    return check


def number(high):
    """A number from 0, also one with a fraction; neither `inf` nor `nan`, which TOML has."""

    def check(value):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= high:
            raise Wrong(f"a number from 0 to {high:,} is right")

    return check


def boolean(value):
    if not isinstance(value, bool):
        raise Wrong("true or false is right")


def text(value):
    if not isinstance(value, str) or not value:
        raise Wrong("a text in quotes is right")


def one_of(*values):
    def check(value):
        # 512.0 and true are equal to numbers, but are none.
        if not any(type(value) is type(one) and value == one for one in values):
            raise Wrong(f"{', '.join(f'`{one}`' for one in values)}: one of these is right{likely(value, values)}")

    return check


def parsed(parse, right):
    """A text that `parse` accepts."""

    def check(value):
        try:
            if not isinstance(value, str):
                raise ValueError
            parse(value)
        except ValueError:
            raise Wrong(f"{right} is right") from None

    return check


def parse_mac(value):
    if not re.fullmatch("[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}", value):
        raise ValueError


def parse_endpoint(value):
    found = re.fullmatch("(.*):([0-9]+)", value)
    if not found or not 0 < int(found[2]) < 65536:
        raise ValueError
    ipaddress.IPv4Address(found[1])


def parse_ports(value):
    found = re.fullmatch("([0-9]+)(?:-([0-9]+))?", value)
    if not found or not 0 <= int(found[1]) <= int(found[2] or found[1]) < 65536:
        raise ValueError


def without_scope(parse):
    """Of addresses: without an interface (`fe80::1%eth0`), for which tables have no room."""

    def check(value):
        if "%" in value:
            raise ValueError
        parse(value)

    return check


def with_length(parse):
    """Of prefixes: with a decimal length or none. `ipaddress` takes netmasks, too."""

    def check(value):
        if not re.fullmatch("[^/%]*(/(0|[1-9][0-9]*))?", value):
            raise ValueError
        parse(value)

    return check


def parse_prefix64(value):
    if ipaddress.IPv6Network(value).prefixlen != 64:
        raise ValueError


mac = parsed(parse_mac, 'a MAC address, "02:00:00:00:00:01",')
address = parsed(without_scope(ipaddress.ip_address), 'an address, "192.0.2.1" or "2001:db8::1",')
address_ipv6 = parsed(without_scope(ipaddress.IPv6Address), 'an IPv6 address, "2001:db8::1",')
address_ipv4 = parsed(ipaddress.IPv4Address, 'an IPv4 address, "192.0.2.1",')
network = parsed(with_length(ipaddress.ip_network), 'a prefix without bits behind its length, "192.0.2.0/24",')
network_ipv4 = parsed(with_length(ipaddress.IPv4Network), 'an IPv4 prefix without bits behind its length, "192.0.2.0/24",')
prefix64_ipv6 = parsed(with_length(parse_prefix64), 'an IPv6 prefix of 64 bits, "2001:db8:0:1::/64",')
interface_address = parsed(with_length(ipaddress.ip_interface), 'an address with the length of its prefix, "192.0.2.1/24",')
endpoint = parsed(parse_endpoint, 'an address and a port, "192.0.2.1:80",')
port_range = parsed(parse_ports, 'a port or a range of ports, "80" or "80-81",')
tcp_port = integer(1, 65535)
switch_port = integer(0, 510)


def either(*kinds):
    """A value of one of these kinds; the last one says what is right."""

    def check(value):
        for kind in kinds[:-1]:
            try:
                return kind(value)
            except Wrong:
                continue
        return kinds[-1](value)

    return check


def list_of(kind):
    def check(value):
        if not isinstance(value, list):
            raise Wrong("a list is right, with square brackets")
        for one in value:
            kind(one)

    return check


class Form:
    """The keys of a table, each with its kind."""

    def __init__(self, required, optional=None):
        self.required = required
        self.kinds = {**required, **(optional or {})}

    def __call__(self, value):
        if not isinstance(value, dict):
            raise Wrong("a table is right")
        for key, one in value.items():
            if key not in self.kinds:
                raise Wrong(f"no key `{key}`: known are {', '.join(self.kinds)}{likely(key, self.kinds)}")
            try:
                self.kinds[key](one)
            except Wrong as wrong:
                # What is in a table of its own names its key already.
                is_named = isinstance(one, dict) or isinstance(one, list) and any(isinstance(part, dict) for part in one)
                raise Wrong(f"{key}: {wrong}" if is_named else f"`{key} = {written(one)}`: {wrong}") from None
        for key in self.required:
            if key not in value:
                raise Wrong(f"the key `{key}` is missing")


def tables(form):
    """Tables of this form, each with the name in double brackets."""

    def check(value):
        if not isinstance(value, list):
            raise Wrong("tables are right, each with its name in double square brackets")
        for place, one in enumerate(value, 1):
            try:
                form(one)
            except Wrong as wrong:
                raise Wrong(f"number {place}: {wrong}") from None

    return check


def distinct(what, values):
    """Refuses two values that are the same: the later would take the place of the earlier. `what` is in the plural."""
    seen = set()
    for value in values:
        if value in seen:
            raise Wrong(f"two {what} {value}: one is right")
        seen.add(value)


def likely(value, values):
    near = difflib.get_close_matches(str(value), [str(one) for one in values], 1)
    return f"; did you mean `{near[0]}`?" if near else ""


def written(value):
    """A value as a file has it."""
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def read(path, form):
    """The settings of a file."""
    try:
        settings = tomllib.loads(path.read_text())
        form(settings)
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Wrong(f"{path}: no TOML: {error}") from None
    except Wrong as wrong:
        raise Wrong(f"{path}: {wrong}") from None
    return settings
