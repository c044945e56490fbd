import sys

from client import Client

c = Client(sys.argv[1:])
c.hello()
c.call("open", 1)
for number in range(2, 10, 2):
    c.send("compare", number, configs=[{}, {"codegen_opt": 0}], rounds=6)
    c.send("submit", number + 1, config={})
    answers = [c.read()[0] for _ in range(2)]
    print(*(a["type"] + str(a["id"]) for a in answers))
c.close()
