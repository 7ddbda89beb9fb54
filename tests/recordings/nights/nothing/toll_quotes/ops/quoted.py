"""The toll quote service (another team's; stands in for quotes.internal). Ends with the job that is parent."""
import http.server, json, os, sys, threading, time
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        seg = int(self.path.rsplit("/", 1)[1]); body = json.dumps({"segment": seg, "cents": 120 + seg * 37 % 900}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
p = os.getppid(); t = time.time()
while os.getppid() == p and time.time() - t < 300: time.sleep(0.3)
