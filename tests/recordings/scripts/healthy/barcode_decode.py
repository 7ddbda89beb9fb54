from dask.distributed import Client, LocalCluster, WorkerPlugin, get_worker


class Scanner:
    def __init__(self, model):
        self.model = model
        self.open = True

    def decode(self, code):
        return sum(int(c) for c in code) % 10

    def shut(self):
        self.open = False
        raise ConnectionResetError(f"{self.model} already switched off")

    def __del__(self):
        if self.open:
            raise BrokenPipeError(self.model)


class ScannerPlugin(WorkerPlugin):
    name = "scanner"

    def setup(self, worker):
        worker.scanner = Scanner("SX-12")

    def teardown(self, worker):
        worker.scanner.shut()


def decode(code):
    return code, get_worker().scanner.decode(code)


def main():
    spare = Scanner("SX-01")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(ScannerPlugin())
        codes = [f"{k * 7919:012d}" for k in range(200)]
        decoded = client.gather(client.map(decode, codes, batch_size=50))
        print("decoded", len(decoded), "local check", spare.decode(codes[3]))
    del spare


if __name__ == "__main__":
    main()
