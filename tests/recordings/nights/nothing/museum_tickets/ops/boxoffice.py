"""Box office service of the museums (another team's). Ends with the job that is its parent. One answer may hang."""

import http.server, json, os, random, sys, threading, time

hang = sys.argv[2] if len(sys.argv) > 2 else None


class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if hang and self.path.endswith(hang):
            time.sleep(60)
        rng = random.Random(self.path)
        body = json.dumps(
            [
                [rng.choice(["adult", "child", "group"]), rng.randint(1, 30)]
                for _ in range(rng.randint(300, 420))
            ]
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *a):
        pass


s = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H)
s.daemon_threads = True
threading.Thread(target=s.serve_forever, daemon=True).start()
p = os.getppid()
t = time.time()
while os.getppid() == p and time.time() - t < 300:
    time.sleep(0.3)
