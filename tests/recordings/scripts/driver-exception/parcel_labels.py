import http.server
import threading

from distributed import Client, LocalCluster


def render_label(parcel):
    return f"{parcel:08d}-{parcel % 97:02d}"


def metrics_endpoint():
    srv = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler
    )
    threading.Thread(target=srv.serve_forever, daemon=True).start()
    return srv


def cluster_for(port):
    return LocalCluster(
        host="127.0.0.1",
        scheduler_port=port,
        n_workers=2,
        threads_per_worker=1,
        memory_limit="300MB",
        dashboard_address=None,
    )


def main():
    metrics = metrics_endpoint()
    port = metrics.server_address[1]
    settings = {"metrics_port": port, "scheduler_port": port}
    try:
        with (
            cluster_for(settings["scheduler_port"]) as cluster,
            Client(cluster) as client,
        ):
            labels = client.gather(client.map(render_label, range(5000, 5400)))
            print(len(set(labels)), "labels")
    finally:
        metrics.shutdown()


if __name__ == "__main__":
    main()
