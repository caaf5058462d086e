#!/usr/bin/env python3
"""Aggregation or disaggregation in the simplest server: a UDP socket, a message a call, in plain Python.

Unlike a switch it is an end of both connections: its packets have its own address.
"""

import argparse
import socket

import messages

RECEIVE_BUFFER_BYTES = 4 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("role", choices=("aggregate", "disaggregate"))
    parser.add_argument("n", type=int, metavar="N")
    for end in ("from", "to"):
        parser.add_argument(f"{end}_address", metavar=f"{end.upper()}_ADDRESS")
        parser.add_argument(f"{end}_port", type=int, metavar=f"{end.upper()}_PORT")
    options = parser.parse_args()
    incoming = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    incoming.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    incoming.bind((options.from_address, options.from_port))
    outgoing = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    outgoing.connect((options.to_address, options.to_port))
    if options.role == "aggregate":
        aggregate(incoming, outgoing, options.n)
    else:
        disaggregate(incoming, outgoing)


def aggregate(incoming, outgoing, n):
    batches = messages.Batches(n)
    while True:
        body, sender = incoming.recvfrom(2048)
        if body[:1] == messages.MESSAGE[:1]:
            body = batches.add(sender, body)
        if body:
            outgoing.send(body)


def disaggregate(incoming, outgoing):
    while True:
        body = incoming.recv(2048)
        for message in messages.split(body) if body[:1] == messages.N_PACKET[:1] else [body]:
            outgoing.send(message)


if __name__ == "__main__":
    main()
