"""Runs small programs: what the system refuses them is said in one line."""

import errno
import shutil

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


def executable(path):
    """The path of the command `forebay`, which must be there."""
    if shutil.which(path) is None:
        raise SystemExit(f"{path}: no such command: `make build` makes it, $FOREBAY names another one")
    return path


def said_of(error):
    number = getattr(error, "errno", None)
    about = [getattr(error, "filename", None), getattr(error, "strerror", None) or error, ADVICE.get(number)]
    return ": ".join(str(part) for part in about if part)
