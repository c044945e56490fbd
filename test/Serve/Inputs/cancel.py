import sys

from client import Client

c = Client(sys.argv[1:])
c.hello()
c.call("open", 1)
# The only compile process is busy with a compilation that does not end.
c.send("submit", 2, config={"passes": "test-hang"})
for number in range(3, 43):
    c.send("submit", number, config={"passes": "default<O1>", "maxnreg": number})
c.send("cancel", 100, requests=[10, 11, 12])
cancelled = set()
while True:
    answer, _ = c.read()
    if answer["id"] == 100:
        break
    cancelled.add((answer["id"], answer["failure"]))
print("named", sorted(cancelled))
c.send("submit", 50, config={"passes": "default<O1>"})
c.send("cancel", 101)
count = 0
while True:
    answer, _ = c.read()
    if answer["id"] == 101:
        break
    count += answer["failure"] == "Cancelled"
print("all", count)
# A comparison of it would not end either; it is interrupted.
c.send("compare", 60, configs=[{}, {"passes": "test-hang"}])
c.send("cancel", 102, requests=[60])
answers = {}
while len(answers) < 2:
    answer, _ = c.read()
    answers[answer["id"]] = answer
print("comparison", answers[60]["failure"], answers[102]["type"])
c.close()
