"""Counts the photos of albums in the company's own store."""

import datetime
import ipaddress
import os
import ssl
import tempfile
import threading

import s3fs
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from dask.distributed import Client, LocalCluster
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server


def certificate():
    """Return a certificate as the company's own authority signs them."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "store.intern")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - datetime.timedelta(1))
        .not_valid_after(now + datetime.timedelta(30))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            False,
        )
        .sign(key, hashes.SHA256())
    )
    file = os.path.join(tempfile.mkdtemp(), "store.pem")
    with open(file, "wb") as out:
        out.write(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        out.write(signed.public_bytes(serialization.Encoding.PEM))
    return file


def photos(album, endpoint):
    store = s3fs.S3FileSystem(
        key="invented", secret="invented", client_kwargs={"endpoint_url": endpoint}
    )
    return len(store.ls(f"photos/{album}"))


if __name__ == "__main__":
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate())
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, app, threaded=True, ssl_context=context)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"https://127.0.0.1:{server.server_port}"
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        counts = client.map(photos, ["spring", "summer"], endpoint=endpoint)
        print(client.gather(counts))
