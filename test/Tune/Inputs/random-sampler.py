#!/usr/bin/env python3
"""A sampler in plain Python: random points, by the protocol of docs/Samplers.

Arguments make it misbehave, for tests:
  --points=N   says done after N points
  --repeat=N   gives each point N times more, which is refused
  --bad=NAME   gives NAME, which is no parameter, first
  --wait       says wait at every other ask
  --log=FILE   appends all lines that it reads to FILE
"""
import argparse
import json
import random
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--points", type=int, default=1 << 30)
parser.add_argument("--repeat", type=int, default=0)
parser.add_argument("--bad")
parser.add_argument("--wait", action="store_true")
parser.add_argument("--log")
args = parser.parse_args()


def lines():
    for line in sys.stdin:
        if args.log:
            with open(args.log, "a") as log:
                log.write(line)
        yield json.loads(line)


def answer(message):
    print(json.dumps(message), flush=True)


def draw(parameter):
    if "values" in parameter:
        return rng.choice(parameter["values"])
    if parameter["kind"] == "int":
        low, high, step = (parameter[k] for k in ("low", "high", "step"))
        return rng.randrange(low, high + 1, step)
    if parameter["kind"] == "real":
        return rng.uniform(parameter["low"], parameter["high"])
    raise SystemExit("cannot draw a " + parameter["kind"])


messages = lines()
space = next(messages)
rng = random.Random(space["seed"])
given, asks, point, again = 0, 0, None, 0
for message in messages:
    if "error" in message:
        print("refused:", message["error"], file=sys.stderr)
    elif "ask" not in message:
        continue
    else:
        asks += 1
        if given == args.points:
            answer({"done": True})
            continue
        if args.wait and asks % 2:
            answer({"wait": True})
            continue
        given += 1
    if args.bad:
        answer({"point": {args.bad: 0}})
        args.bad = None
    elif point is not None and again < args.repeat:
        again += 1
        answer({"point": point})
    else:
        again = 0
        point = {}
        for p in space["parameters"]:
            if p["kind"] == "pipeline":
                for d in p["decisions"]:
                    point[d["name"]] = rng.randrange(d["count"])
            else:
                point[p["name"]] = draw(p)
        answer({"point": point, "id": given})
