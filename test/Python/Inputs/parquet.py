import sys

import pandas
import pyarrow.parquet

import llvm_mneme as mneme

with mneme.Executor(mneme.open(sys.argv[1])["poly"], device="host") as executor:
    results = [executor.evaluate(passes="default<O1>"), executor.evaluate(maxnreg=32), executor.evaluate(grid_x=8)]
mneme.dataset.write(sys.argv[2], results)
table = pyarrow.parquet.read_table(sys.argv[2])
print(table.num_rows, "rows, schema", table.schema.metadata[b"mneme_schema"])
frame = pandas.read_parquet(sys.argv[2])
print(frame.failure.tolist())
print(frame.time.dtype, frame.grid_x.dtype, frame.verified.dtype)
print(len(frame.samples[0]), frame.time.isna().tolist() == [False, False, True])
# More than a batch.
mneme.dataset.write(sys.argv[2], results * 6666 + results[:2])
print(pyarrow.parquet.read_metadata(sys.argv[2]).num_rows)
