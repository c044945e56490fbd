import sys

import llvm_mneme as mneme

r = mneme.open(sys.argv[1])
print(len(r), sorted(k.name for k in r.values()))
poly = r["poly"]
print(poly is r[poly.static_hash] is r[poly.static_hash[:6]] is r[poly.symbol], poly.arch, poly.opt_level)
print([(str(i.grid), str(i.block), i.shared_mem, i.occurrences) for i in poly.values()])
launch = next(iter(poly.values()))
print([a.value for a in launch.args[2:]], [a.kind for a in launch.args])
print([(b.id, b.size, b.kind, b.name, b.dtype) for b in launch.buffers])
print(launch.pointee(1) is launch.buffer("out"), launch.buffer("Calls").kind)
print(launch.annotations[0].tolerance, launch.annotations[0].value, launch.annotations[0].tag)
print(launch.config)
print("poly" in r, "nonsense" in r, mneme.open(poly.path).only().name)
for name, action in [
    ("kernel", lambda: r["poli"]),
    ("launch", lambda: poly["ffff"]),
    ("buffer", lambda: launch.buffer("outt")),
    ("only", lambda: r.only()),
    ("missing", lambda: mneme.open("/nonsense")),
    ("not a kernel", lambda: mneme.open(__file__)),
    ("empty", lambda: mneme.open("/proc/self/fd")),
]:
    try:
        action()
    except mneme.RecordingError as error:
        print(name, "->", str(error).splitlines()[0])
html = r._repr_html_() + poly._repr_html_() + launch._repr_html_()
print(html.count("<table>"), "<script" in html, "poly(float const*, float*, int, double)" in html)
