import sys

from client import Client

c = Client(sys.argv[1:])
c.hello()
space, _ = c.call("space", 1, options=[{"name": "block-x", "text": "64..256:64"}], sampler="grid")
print(space["count"], space["dimensions"], space["objectives"], space["default"])
points, _ = c.call("ask", 2, space=space["space"], count=2)
print([p["config"] for p in points["points"]])
for p in points["points"]:
    print(c.call("tell", 3, space=space["space"], number=p["number"], values=[5.0])[0]["type"])
print(c.call("tell", 4, space=space["space"], number=0, values=[5.0])[0]["error"])
print(len(c.call("ask", 5, space=space["space"], count=10)[0]["points"]))
print(len(c.call("ask", 6, space=space["space"], count=10)[0]["points"]))
print(c.call("configure", 7, space=space["space"], point={"block.x": 128})[0]["config"])
print(c.call("configure", 8, space=space["space"], point={"block.x": 5})[0]["error"])
print(c.call("drop", 9, space=space["space"])[0]["type"])
print(c.call("ask", 10, space=space["space"])[0]["error"])
for number, fields in enumerate([{}, {"options": [{"name": "blok-x", "text": "1"}]}, {"options": [{"name": "block-x", "text": "1..x"}]},
                                 {"parameters": [{"name": "x", "kind": "int"}]}, {"preset": "nonsense"},
                                 {"study": "module {"}, {"preset": "launch", "parameters": [{}]},
                                 {"options": [{"name": "block-x", "text": "32,64"}], "sampler": "file=x"}]):
    print("error:", c.call("space", 20 + number, **fields)[0]["error"].splitlines()[0])
c.close()
