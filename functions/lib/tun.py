"""TUN devices, for programs that end tunnels in user space."""

import fcntl
import os
import struct

# linux/if_tun.h.
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000


def tun(name):
    """A descriptor from which the packets to the device are read, and to which packets from it are written."""
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return device
