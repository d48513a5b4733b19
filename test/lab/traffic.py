#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The small socket program that the lab's tests run in its nodes.

traffic.py count ADDRESS          receives datagrams until its input ends, prints how many
traffic.py send ADDRESS COUNT     sends that many, a few milliseconds apart
traffic.py sink ADDRESS           takes one TCP stream and prints its bytes when it ends
traffic.py stream ADDRESS         sends a TCP stream until its input ends
count and sink print 'ready' when they listen.
"""

import select
import socket
import sys
import time

PORT = 7777


def _family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def count(address):
    with socket.socket(_family(address), socket.SOCK_DGRAM) as sock:
        sock.bind((address, PORT))
        print("ready", flush=True)
        received, ended = 0, False
        while True:
            readable = select.select([sock] + ([] if ended else [sys.stdin]), [], [], 0.2 if ended else None)[0]
            if sock in readable:
                sock.recv(100)
                received += 1
            elif sys.stdin in readable:
                ended = True
            else:
                break
    print(received)


def send(address, number):
    with socket.socket(_family(address), socket.SOCK_DGRAM) as sock:
        for _ in range(int(number)):
            try:
                sock.sendto(b"x", (address, PORT))
            except OSError:
                pass  # no route while the carrier is away: what counts is what arrives
            time.sleep(0.003)


def sink(address):
    with socket.create_server((address, PORT), family=_family(address)) as server:
        print("ready", flush=True)
        connection, _ = server.accept()
        total = 0
        while data := connection.recv(1 << 20):
            total += len(data)
    print(total)


def stream(address):
    block = bytes(1 << 16)
    with socket.create_connection((address, PORT), timeout=10) as sock:
        sock.settimeout(0.05)
        while not select.select([sys.stdin], [], [], 0)[0]:
            try:
                sock.send(block)
            except TimeoutError:
                pass


if __name__ == "__main__":
    {"count": count, "send": send, "sink": sink, "stream": stream}[sys.argv[1]](*sys.argv[2:])
