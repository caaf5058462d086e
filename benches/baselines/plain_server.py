#!/usr/bin/env python3
"""Aggregation or disaggregation as a server writes it first: a UDP socket, a message a call, in plain Python.

    plain_server.py ROLE N FROM_ADDRESS FROM_PORT TO_ADDRESS TO_PORT

ROLE is `aggregate` or `disaggregate`. Unlike a switch it is an end of both connections: what it sends has its own address.
"""

import socket
import sys

import messages

RECEIVE_BUFFER_BYTES = 4 << 20


def main():
    role, n, address, port, to_address, to_port = sys.argv[1:]
    incoming = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    incoming.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    incoming.bind((address, int(port)))
    outgoing = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    outgoing.connect((to_address, int(to_port)))
    if role == "aggregate":
        aggregate(incoming, outgoing, int(n))
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
