"""Contact sheets of the museum's new scans: convert first, then measure the thumbnails."""

import os
import subprocess
import sys
import tempfile
import textwrap

from dask.distributed import Client, LocalCluster

CONVERTER = textwrap.dedent("""
    import sys
    src, dst = sys.argv[1:]
    data = open(src, 'rb').read()
    if data[:4] == b'CMYK':
        sys.stderr.write('convert: unsupported colour space CMYK in %s\\n' % src)
        sys.exit(3)
    open(dst, 'wb').write(data[:64])
""")


def convert(tool, src, dst):
    subprocess.run([sys.executable, tool, src, dst])
    return dst


def measure(dst):
    with open(dst, "rb") as f:
        return os.path.basename(dst), len(f.read())


def main():
    with tempfile.TemporaryDirectory() as folder:
        tool = os.path.join(folder, "convert.py")
        with open(tool, "w") as f:
            f.write(CONVERTER)
        sources = []
        for i in range(8):
            src = os.path.join(folder, f"scan-{i:03d}.raw")
            with open(src, "wb") as f:
                f.write((b"CMYK" if i == 5 else b"RGB8") * 100)
            sources.append(src)
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            with Client(cluster) as client:
                thumbs = [
                    client.submit(convert, tool, s, s.replace(".raw", ".thumb"))
                    for s in sources
                ]
                for name, size in client.gather(client.map(measure, thumbs)):
                    print(name, size)


if __name__ == "__main__":
    main()
