"""Reaches for the network and for sockets of other programs. What listens here hears nothing."""

from pathlib import Path

from tests.attacks.catalogue import attack, run_code

NETWORK = "isolation_violated/network"


@attack(NETWORK)
def tcp(package: Path) -> None:
    """Connects to a server that listens on this machine. Refused, and said as a warning."""
    run_code(package, 'import socket\nattempt(socket.create_connection, ("127.0.0.1", TARGETS["tcp"]), 2)')


@attack(NETWORK)
def download(package: Path) -> None:
    """Fetches an address with the library that everybody uses. Refused, and said as a warning."""
    run_code(
        package,
        """
        import urllib.request
        for host in ("127.0.0.1", "localhost"):
            attempt(urllib.request.urlopen, f"http://{host}:{TARGETS['tcp']}/", None, 2)
        """,
    )


@attack()
def udp(package: Path) -> None:
    """Sends a datagram, and a question as a name server would get it. No socket can be made."""
    run_code(
        package,
        """
        import socket
        def send():
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", ("127.0.0.1", TARGETS["udp"]))
        attempt(send)
        """,
    )


@attack(NETWORK)
def name_look_up(package: Path) -> None:
    """Looks a name up, which would carry a word out. Refused, and said as a warning."""
    run_code(
        package,
        """
        import socket
        try:
            socket.getaddrinfo("localhost", 80)
            socket.gethostbyname("localhost")
        except OSError:
            pass
        """,
    )


@attack()
def sockets_by_system_call(package: Path) -> None:
    """Makes sockets of every family and type by system call, unseen by the hook. None can be made."""
    run_code(
        package,
        """
        for family in range(1, 46):
            for kind in (1, 2, 3, 5, 10, 1 | 0o2004000):
                refused("socket", family, kind, 0, by=(EPERM,))
        """,
    )


@attack()
def network_through_libc(package: Path) -> None:
    """Calls socket and connect of libc, as a compiled extension would. Refused."""
    run_code(
        package,
        """
        import struct
        handle = libc.socket(2, 1, 0)
        address = struct.pack("=H", 2) + struct.pack("!H", TARGETS["tcp"]) + bytes([127, 0, 0, 1]) + bytes(8)
        if handle >= 0 and libc.connect(handle, address, 16) == 0:
            gained("a connection")
        """,
    )


@attack()
def docker_socket(package: Path) -> None:
    """Connects to a socket that stands for docker's, and to one of another program. Refused."""
    run_code(
        package,
        """
        import socket
        def connect(path):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(path)
        for path in (*TARGETS["sockets"], "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/dev/log"):
            attempt(connect, path)
        """,
    )


@attack()
def abstract_socket(package: Path) -> None:
    """Connects to a socket that has no path (X11, D-Bus, containerd have some). Refused."""
    run_code(
        package,
        """
        import socket
        def connect():
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect("\\0" + TARGETS["abstract"])
        attempt(connect)
        """,
    )


@attack()
def socket_pair_as_a_way_out(package: Path) -> None:
    """Makes a pair of sockets, which every event loop needs, and turns it to another address. Refused."""
    run_code(
        package,
        """
        import socket
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            pair = (ctypes.c_int * 2)()
            if libc.socketpair(1, kind, 0, pair) != 0:
                continue
            for path in (*TARGETS["sockets"], "\\0" + TARGETS["abstract"]):
                name = path.encode()
                address = (1).to_bytes(2, sys.byteorder) + name + (b"" if name[0] == 0 else b"\\0")
                if libc.connect(pair[0], address, len(address)) == 0:
                    gained(f"a connection to {path!r}")
                libc.sendto(pair[1], b"hello", 5, 0, address, len(address))  # who listens there says if it came
        """,
    )


@attack()
def server_of_its_own(package: Path) -> None:
    """Opens a port for others to come in by. No socket can be made."""
    run_code(package, 'import socket\nattempt(socket.create_server, ("127.0.0.1", 0))')


@attack()
def network_by_another_program(package: Path) -> None:
    """Starts another interpreter, a shell and a downloader that use the network. They inherit the jail."""
    run_code(
        package,
        """
        import subprocess
        port = TARGETS["tcp"]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        for command in ([sys.executable, "-I", "-c", code], ["bash", "-c", f"echo hello > /dev/tcp/127.0.0.1/{port}"],
                        ["curl", "-s", "-m", "2", f"http://127.0.0.1:{port}/"]):
            try:
                done = subprocess.run(command, capture_output=True)
            except OSError:
                continue
            if done.returncode == 0:
                gained(command)
        """,
    )
