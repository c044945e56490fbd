import sys

import llvm_mneme as mneme

launch = mneme.open(sys.argv[1])["twice"].only()
module = launch.module()
print(module.text.splitlines()[0][:13], len(module.bitcode) > 500, module.bitcode[:2])
kernel = [f for f in module.functions if f.name == launch.kernel.symbol][0]
print(kernel.name, kernel.blocks > 1)
blocks = module.blocks[kernel.first_block : kernel.first_block + kernel.blocks]
print(sum(b.instructions for b in blocks) == sum(1 for i in module.instructions if kernel.first_block <= i.block < kernel.first_block + kernel.blocks))
print(module.opcodes()["alloca"] > 0, module.instructions.opcode.counts() == module.opcodes())
with mneme.Executor(launch, device="host") as executor:
    result = executor.evaluate(passes="default<O2>")
    optimized = result.module()
    print(optimized.opcodes()["alloca"], len(optimized.loops), optimized.loops[0].depth)
    header = optimized.loops[0].header
    edges = [(e.source, e.target) for e in optimized.edges]
    print(any(target == header for _, target in edges), optimized.blocks[header].loop)
    loads = [i for i in optimized.instructions if i.opcode == "load"]
    pointer = optimized.operands[loads[0].first_operand]
    print(pointer.kind, pointer.type, optimized.instructions[pointer.value].opcode)
    # Changed text is a candidate.
    changed = module.text.replace(" mul nsw i32 ", " add nsw i32 ")
    print(changed != module.text, executor.evaluate(passes="default<O2>", ir=changed).failure)
    changed = executor.evaluate(passes="default<O2>", ir=changed)
    print("shl" in changed.module().opcodes(), "shl" in optimized.opcodes())
try:
    module.instructions.opcod
except AttributeError as error:
    print(error)
try:
    launch._module(mneme.Config(passes="nonsense"), True, None).text
except mneme.RequestError as error:
    print(str(error).splitlines()[0])
print("<table>" in module.instructions._repr_html_(), "<table>" in module._repr_html_())
