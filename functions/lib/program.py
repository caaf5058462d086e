"""Runs small programs: what the system refuses them is said in one line."""

import errno

ADVICE = {
    errno.EPERM: "be root",
    errno.EACCES: "be root",
    errno.ENODEV: "`ip link` lists the interfaces",
    errno.EADDRNOTAVAIL: "`ip address` lists the addresses of this machine",
    errno.EADDRINUSE: "another program has this port",
}


def run(main):
    """Runs a program until it ends or is interrupted."""
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except (OSError, OverflowError) as error:
        raise SystemExit(said_of(error)) from None


def said_of(error):
    number = getattr(error, "errno", None)
    about = [getattr(error, "filename", None), getattr(error, "strerror", None) or error, ADVICE.get(number)]
    return ": ".join(str(part) for part in about if part)
