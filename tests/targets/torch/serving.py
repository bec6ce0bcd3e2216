"""A serving loop: requests wait in a queue, worker threads answer them with a small model.

    serving.py [REQUESTS [WORKERS]]     800 requests, 4 workers; prints the truth as JSON

Half of the workers run from the beginning, half are started when a quarter of the requests is done.
Each request is one region "request", one linear layer and one relu.
"""
import json
import queue
import sys
import threading

import torch
from torch.profiler import record_function

REQUESTS, WORKERS = (int(word) for word in (sys.argv[1:] + ["800", "4"][len(sys.argv) - 1:]))


def answer(net, requests, answers):
    n = 0
    while (x := requests.get()) is not None:
        with record_function("request"), torch.no_grad():
            answers.put(float(net(x).sum()))
        n += 1
    seen[threading.current_thread().name] = n


def start(number):
    worker = threading.Thread(target=answer, args=(net, requests, answers), name=f"worker-{number}")
    worker.start()
    return worker


torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU())
requests, answers, seen = queue.Queue(), queue.Queue(), {}
workers = [start(k) for k in range(WORKERS // 2)]
for k in range(REQUESTS):
    requests.put(torch.ones(1, 32))
    answers.get()
    if k == REQUESTS // 4:
        workers += [start(k) for k in range(len(workers), WORKERS)]
for _ in workers:
    requests.put(None)
for worker in workers:
    worker.join()
print(json.dumps({"requests": REQUESTS, "linear": REQUESTS, "by_worker": seen}))
