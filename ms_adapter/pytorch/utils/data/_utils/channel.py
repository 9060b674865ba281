"""Messages and descriptors over a socket between a loader and one worker, neither end ever blocking."""

import array
import os
import socket
import struct
import weakref
from collections import deque

__all__ = ["Channel", "TooManyFiles"]

_HEADER = struct.Struct("<IIQ")  # bytes of the control part (0: only descriptors), descriptors, bytes of data
_MOST_DESCRIPTORS = 250  # in one system call; Linux takes 253
_ROOM_FOR_DESCRIPTORS = socket.CMSG_SPACE(_MOST_DESCRIPTORS * 4)


class TooManyFiles(RuntimeError):
    """Descriptors of a message were lost; the connection cannot be used further."""


_loaders_ends = weakref.WeakSet()


def _close_in_child():
    """A forked process must not hold the loader's ends: workers know by their closing that it is gone."""
    for channel in list(_loaders_ends):
        channel.close()


os.register_at_fork(after_in_child=_close_in_child)


class Channel:
    """One end of a connection; ``loaders_end`` says that forked processes have to close it.

    A message has a control part, which is never empty, a data part, and regions of shared memory whose
    descriptors travel with it.
    """

    def __init__(self, sock, loaders_end=False):
        sock.setblocking(False)
        self._socket = sock
        self._outgoing = deque()  # [bytes left, regions to send with the first of them]
        self._header = bytearray(_HEADER.size)
        self._body = None
        self._filled = 0
        self._descriptors = []
        if loaders_end:
            _loaders_ends.add(self)

    def fileno(self):
        """The descriptor to wait on, -1 once closed."""
        return self._socket.fileno()

    def close(self):
        """End the connection: the other end then reads its end."""
        self._socket.close()
        self._outgoing.clear()
        while self._descriptors:
            os.close(self._descriptors.pop())

    @property
    def has_outgoing(self):
        """Whether `flush` has something left to send."""
        return bool(self._outgoing)

    def send(self, control, data=b"", regions=()):
        """Send a message as far as the socket takes it now; `flush` sends the rest."""
        regions = list(regions)
        while len(regions) > _MOST_DESCRIPTORS:
            some, regions = regions[:_MOST_DESCRIPTORS], regions[_MOST_DESCRIPTORS:]
            self._outgoing.append([_HEADER.pack(0, len(some), 0), some])
        header = _HEADER.pack(len(control), len(regions), len(data))
        self._outgoing.append([b"".join((header, control, data)), regions])
        self.flush()

    def flush(self):
        """Send what the socket takes; raises BrokenPipeError when the other end is closed."""
        while self._outgoing:
            message = self._outgoing[0]
            try:
                sent = self._send_some(*message)
            except BlockingIOError:
                return
            if sent == len(message[0]):
                self._outgoing.popleft()
            else:
                message[:] = [memoryview(message[0])[sent:], ()]

    def _send_some(self, view, regions):
        if not regions:
            return self._socket.send(view, socket.MSG_NOSIGNAL)
        descriptors = array.array("i", [region.fd for region in regions])
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
        return self._socket.sendmsg([view], rights, socket.MSG_NOSIGNAL)

    def receive(self):
        """The next message as (control, data, descriptors), or None where it has not arrived in full.

        Raises EOFError when the other end is closed.
        """
        try:
            while True:
                if self._body is None and not self._read_header():
                    continue
                while self._filled < len(self._body):
                    self._filled += self._read(self._socket.recv_into(memoryview(self._body)[self._filled :]))
                control_bytes, _, _ = _HEADER.unpack(self._header)
                body, descriptors = memoryview(self._body), self._descriptors
                self._body, self._filled, self._descriptors = None, 0, []
                return body[:control_bytes], body[control_bytes:], descriptors
        except BlockingIOError:
            return None
        except ConnectionResetError:
            raise EOFError from None

    @staticmethod
    def _read(count):
        if count == 0:
            raise EOFError
        return count

    def _read_header(self):
        """Read on in the header; whether a body follows."""
        room = memoryview(self._header)[self._filled :]
        count, ancillary, flags, _ = self._socket.recvmsg_into(
            [room], _ROOM_FOR_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
        )
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._descriptors += array.array("i", data)
        if flags & socket.MSG_CTRUNC:
            raise TooManyFiles(
                "Too many open files: this process could not take the descriptors of a batch's memory. Raise "
                "the limit with `ulimit -n` or torch.multiprocessing.set_sharing_strategy('file_system')."
            )
        self._filled += self._read(count)
        if self._filled < _HEADER.size:
            return False
        self._filled = 0
        control_bytes, _, data_bytes = _HEADER.unpack(self._header)
        if control_bytes:
            self._body = bytearray(control_bytes + data_bytes)
        return control_bytes > 0
