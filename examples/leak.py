"""A page server with a cache that only ever grows.

Needs nothing. Run:  python leak.py [scale]   (scale 1 serves 150 000 requests; about 150 MB)
"""

# what is wrong with it: the key holds the request's number, so nothing is ever hit or freed; key by page, set a limit
import random
import sys

PAGES = 50
CACHE = {}
HITS = 0


def render(page):
    rows = [f"<li>{page}-{line}</li>" for line in range(60)]
    return "<ul>" + "".join(rows) + "</ul>"


def cached_page(page, request):
    global HITS
    key = (page, request)
    if key in CACHE:
        HITS += 1
    else:
        CACHE[key] = render(page)
    return CACHE[key]


def serve(requests):
    sent = 0
    for request in range(requests):
        sent += len(cached_page(random.randrange(PAGES), request))
    return sent


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    requests = max(1, round(150_000 * scale))
    random.seed(0)
    sent = serve(requests)
    print(f"{requests} requests, {sent} characters sent: {len(CACHE)} pages in the cache, {HITS} hits")


if __name__ == "__main__":
    main()
