# SPDX-License-Identifier: BSD-3-Clause
"""Whether nodes can talk over their lanes, both ways, and how fast: the doctor's part that runs on every node at once.

The plan, made by the head, is the same everywhere: {"port": P, "rails": {node: [a rail as nezha_ask tells it]}}. Each node
listens at the port on all of its rails, and tries its lanes to all others (of many: to those of peers.py), so each lane is
tried from both ends. Then each node measures its lanes to the next one in the list, no two links of a node at a time. A
node stays until those that it can talk to are done.
"""

import collections
import concurrent.futures
import errno
import os
import socket
import threading
import time

from nezha_command import ask

from .peers import tried_by

_CONNECT = 2.0  # for one try
_LATE = 4.0  # who refuses may not have started yet
_STAY = 30.0  # at most, for others
_BEFORE = 15.0  # for the link before in the list to be measured
_WAIT = 6.0  # for an answer while a link is measured
_MEASURE = 0.15  # for one way, one time
_TIMES = 3
_LARGE = 256 << 10
_BIND_DEVICE = 25  # SO_BINDTODEVICE
_WORKERS = 32
ANSWERED_BY = "answered by "
_LONGEST = 300  # letters of a line; a host's name has 255 at most

Lane = collections.namedtuple("Lane", "rail peer peer_rail")


def lanes_of(rails, node):
    """The lanes of a node that it tries, seen from it, paired as the component does it."""
    return [Lane(rails[node][local]["name"], peer, rails[peer][remote]["name"])
            for peer in tried_by(list(rails), node) for local, remote in ask.lanes(rails[node], rails[peer])]


def phase_of(index, count):
    """In which of three steps a node measures its link to the next one, so that no node has two links at a time."""
    return 2 if count % 2 and index == count - 1 else index % 2


class Probe:
    def __init__(self, plan, node):
        self._rails, self._port, self._node, self._started = plan["rails"], plan["port"], node, time.monotonic()
        self._at = {(name, rail["name"]): (rail["address"], rail["device"]) for name, rails in self._rails.items() for rail in rails}
        self._done, self._served = set(), threading.Event()
        self._change = threading.Condition()

    def run(self):
        """{"listen": {rail: error}, "lanes": [...], "links": [...]}, for facts of this node's side."""
        listeners, errors = self._listen()
        try:
            with concurrent.futures.ThreadPoolExecutor(_WORKERS) as pool:
                lanes = list(pool.map(self._try, lanes_of(self._rails, self._node)))
            reached = {row["peer"] for row in lanes if row["result"] == "ok"}
            links = self._measure(lanes)
            self._leave(lanes, reached)
        finally:
            for listener in listeners:
                listener.close()
        return {"listen": errors, "lanes": lanes, "links": links}

    # ---- serving

    def _listen(self):
        listeners, errors = [], {}
        for rail in self._rails[self._node]:
            address = rail["address"]
            try:
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                listener = socket.create_server((address, self._port), family=family, backlog=256)
            except OSError as error:
                errors[rail["name"]] = error.strerror
                continue
            listeners.append(listener)
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listeners, errors

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            connection.settimeout(_CONNECT * 2)
            try:
                who, what = _line(connection).split()
                if what == "large":
                    connection.sendall(f"{self._name()}\n".encode())
                    _receive(connection)
                    connection.sendall(b"ok\n")
                elif what == "push":
                    connection.sendall("{} {:.6f}\n".format(*_receive(connection)).encode())
                elif what == "pull":
                    _send(connection, _MEASURE)
                elif what == "served":
                    self._served.set()
                elif what == "done":
                    with self._change:
                        self._done.add(who)
                        self._change.notify_all()
            except (OSError, ValueError):
                pass  # the other side tells what it has seen

    def _name(self):
        """What tells this process from all others that may answer at an address."""
        return f"{self._node} {os.getpid()}"

    # ---- asking

    def _open(self, lane, what):
        address, _ = self._at[lane.peer, lane.peer_rail]
        own, device = self._at[self._node, lane.rail]
        connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        try:
            connection.settimeout(_CONNECT)
            try:
                connection.setsockopt(socket.SOL_SOCKET, _BIND_DEVICE, device.encode() + b"\0")
            except PermissionError:
                pass  # the source address alone decides, as with the rails
            connection.bind((own, 0))
            connection.connect((address, self._port))
            connection.sendall(f"{self._node} {what}\n".encode())
            return connection
        except BaseException:
            connection.close()
            raise

    def _try(self, lane):
        """result: ok, the name of the error, or who else answered; large: the same for a vector of some size; rtt_us of the
        connection."""
        row = {"rail": lane.rail, "peer": lane.peer, "peer_rail": lane.peer_rail, "result": "", "large": "", "rtt_us": None}
        while not row["result"]:
            try:
                begun = time.monotonic()
                with self._open(lane, "large") as connection:
                    taken = (time.monotonic() - begun) * 1e6
                    row["result"] = self._who_answers(connection, lane.peer)
                    if row["result"] == "ok":
                        row["rtt_us"], row["large"] = taken, self._try_large(connection)
            except OSError as error:
                late = time.monotonic() - self._started < _LATE
                if not (isinstance(error, ConnectionRefusedError) and late):
                    row["result"] = _name(error)
                else:
                    time.sleep(0.1)
        return row

    def _who_answers(self, connection, peer):
        name = _line(connection)
        if name == self._name():
            return ANSWERED_BY + "this node itself"
        return "ok" if name.split()[:1] == [peer] else f"{ANSWERED_BY}{name.split()[0] if name else 'no doctor'}"

    @staticmethod
    def _try_large(connection):
        try:
            connection.sendall(bytes(_LARGE))
            connection.shutdown(socket.SHUT_WR)
            return "ok" if _line(connection) == "ok" else "cut"
        except OSError as error:
            return _name(error)

    def _measure(self, lanes):
        nodes = list(self._rails)
        index, count = nodes.index(self._node), len(nodes)
        before = nodes[index - 1]
        waits = count > 2 and phase_of((index - 1) % count, count) < phase_of(index, count)
        if waits and any(row["peer"] == before and row["result"] == "ok" for row in lanes):
            self._served.wait(_BEFORE)
        if count == 1 or (count == 2 and index == 1):
            return []
        following = [row for row in lanes if row["peer"] == nodes[(index + 1) % count] and row["large"] == "ok"]
        links = [self._measure_lane(Lane(row["rail"], row["peer"], row["peer_rail"])) for row in following]
        if following:
            self._tell(Lane(following[0]["rail"], following[0]["peer"], following[0]["peer_rail"]), "served")
        return links

    def _measure_lane(self, lane):
        """Bytes per second there and back, the better of several times, since others' work only makes it less; None where
        it broke off."""
        row = {"rail": lane.rail, "peer": lane.peer, "peer_rail": lane.peer_rail, "there": None, "back": None}
        try:
            for _ in range(_TIMES):
                row["there"] = max(row["there"] or 0.0, self._push(lane))
                row["back"] = max(row["back"] or 0.0, self._pull(lane))
        except (OSError, ValueError, TypeError):
            pass
        return row

    def _push(self, lane):
        with self._open(lane, "push") as connection:
            connection.settimeout(_WAIT)
            _send(connection, _MEASURE)
            return _rate(*_line(connection).split())

    def _pull(self, lane):
        with self._open(lane, "pull") as connection:
            connection.settimeout(_WAIT)
            return _rate(*_receive(connection))

    def _tell(self, lane, what):
        try:
            self._open(lane, what).close()
        except OSError:
            pass

    def _leave(self, lanes, reached):
        """Tells those that can be reached, and waits for their word."""
        for peer in reached:
            row = next(row for row in lanes if row["peer"] == peer and row["result"] == "ok")
            self._tell(Lane(row["rail"], peer, row["peer_rail"]), "done")
        with self._change:
            self._change.wait_for(lambda: reached <= self._done, max(0.0, self._started + _STAY - time.monotonic()))


def _name(error):
    return "timeout" if isinstance(error, TimeoutError) else errno.errorcode.get(error.errno, str(error))


def _rate(count, seconds):
    return int(count) / float(seconds) if float(seconds) > 0 else 0.0


def _line(connection):
    text = b""
    while not text.endswith(b"\n") and len(text) < _LONGEST:
        part = connection.recv(1)
        if not part:
            break
        text += part
    return text.decode(errors="replace").strip()


def _receive(connection):
    """(bytes, seconds from the first of them to the end)."""
    count, first, last = 0, None, None
    buffer = memoryview(bytearray(_LARGE))
    while True:
        got = connection.recv_into(buffer)
        last = time.monotonic()
        if not got:
            return count, last - (first or last)
        first = first or last
        count += got


def _send(connection, seconds):
    until, data = time.monotonic() + seconds, bytes(_LARGE)
    while time.monotonic() < until:
        connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)
