"""A small process that keeps what a sender shared by "file_system" until it is received, sender or not.

The sender hands it descriptors over a socket pair; receivers fetch each once by a secret token. It ends when
it has nothing left and its sender is gone, or with the process that started the sender. It runs this file
alone, so nothing of the package may be imported here.
"""

import contextlib
import multiprocessing.connection
import os
import secrets
import socket
import struct
import subprocess
import sys

_TOKEN_BYTES = 32
_WAITING = 128  # connections
_STALLED_S = 10  # for a receiver that connects and says nothing

_started = None  # (pid, name, socket) of this process's keeper


class KeptDescriptor:
    """What travels in a message for a descriptor."""

    def __init__(self, name, token):
        self._name, self._token = name, token

    def detach(self):
        """The descriptor; only the first call of all processes gets it."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(self._name)
            connection.send(self._token)
            _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
        if not descriptors:
            raise EOFError("it is no longer kept")
        return descriptors[0]


def keep(descriptor):
    """Leave a descriptor with this process's keeper, which is started if there is none."""
    global _started
    if _started is None or _started[0] != os.getpid():
        _started = (os.getpid(), *_start())
    _, name, control = _started
    token = secrets.token_bytes(_TOKEN_BYTES)
    socket.send_fds(control, [token], [descriptor])
    return KeptDescriptor(name, token)


def _start():
    """(address, socket for descriptors) of a new keeper, which has no part in this process's memory."""
    name = b"\0msa-keeper-" + secrets.token_hex(16).encode()  # abstract: no file to leave behind
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, theirs:
        listener.bind(name)
        listener.listen(_WAITING)
        descriptors = theirs.fileno(), listener.fileno(), multiprocessing.parent_process().sentinel
        subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, *map(str, descriptors)],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is not meant for it
        )
    return name, ours


def _serve(control, listener, parent):
    """Give out what comes until nothing is left to do."""
    kept, sender_lives = {}, True
    while sender_lives or kept:
        sources = [listener, parent] + ([control] if sender_lives else [])
        ready = multiprocessing.connection.wait(sources)
        if parent in ready:
            return
        if listener in ready:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                sender_lives = _take_in(control, kept)  # what was sent before this receiver asked
                _give_out(connection, kept)
        elif control in ready:
            sender_lives = _take_in(control, kept)


def _take_in(control, kept):
    """Everything that the sender has sent so far; whether it is still there."""
    while True:
        try:
            token, descriptors, _, _ = socket.recv_fds(control, _TOKEN_BYTES, 1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        if not token:
            return False
        if descriptors:  # else this process may open no more files
            kept[token] = descriptors[0]


def _give_out(connection, kept):
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    if struct.unpack("3i", credentials)[1] != os.geteuid():
        return
    connection.settimeout(_STALLED_S)
    descriptor = kept.pop(connection.recv(_TOKEN_BYTES), None)
    if descriptor is not None:
        try:
            socket.send_fds(connection, [b"."], [descriptor])
        finally:
            os.close(descriptor)


def _main():
    control, listener, parent = map(int, sys.argv[1:])
    _serve(socket.socket(fileno=control), socket.socket(fileno=listener), parent)


if __name__ == "__main__":
    _main()
