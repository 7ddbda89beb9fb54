"""Ask a device for its values; one device accepts and never answers."""

import socket
import threading

from dask.distributed import Client


def device(listener, answers):
    while True:
        connection, _ = listener.accept()
        if answers:
            connection.sendall(b"21.5\n")
            connection.close()
        else:
            threading.Event().wait()


def read_device(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        return float(connection.makefile().readline())


def main():
    ports = []
    for n in range(6):
        listener = socket.create_server(("127.0.0.1", 0))
        ports.append(listener.getsockname()[1])
        thread = threading.Thread(target=device, args=(listener, n != 4), daemon=True)
        thread.start()
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    values = client.map(read_device, ports)
    print("reading", len(values), "devices", flush=True)
    print(client.gather(values))


if __name__ == "__main__":
    main()
