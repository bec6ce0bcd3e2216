"""A web server with a thread for each request, which takes 4 ms of CPU; the client is the first thread: http_requests.py TRUTH [SECONDS]"""
import socketserver
import sys
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from stamps import Truth, burn

TRUTH = Truth(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.3


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        render()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    server_bind = socketserver.TCPServer.server_bind  # without looking for a name of this host

    def process_request(self, request, client_address):
        TRUTH.threads += 1
        super().process_request(request, client_address)


def render():
    with TRUTH.of("render"):
        burn(0.004)


def ask(port):
    with TRUTH.of("ask"):
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/")
        connection.getresponse().read()
        connection.close()


def main():
    server = Server(("127.0.0.1", 0), Page)
    thread = TRUTH.start(server.serve_forever, 0.02)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        ask(server.server_address[1])
    server.shutdown()
    thread.join()
    server.server_close()


main()
TRUTH.write()
