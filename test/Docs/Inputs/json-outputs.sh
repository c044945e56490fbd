# json-outputs.sh APP EMULATED FAULTS VARYING: records APP in this folder, and writes what the tools print
# and write as JSON to NAME.*.json, NAME being that of a schema. APP has its sources. EMULATED has the emulated CUDA driver,
# FAULTS is the plugin with planted faults, the results of VARYING's kernel compact vary. The tools are in PATH.
set -eu
app=$1
emulated="env LD_LIBRARY_PATH=$2 MNEME_EMULATED_KERNELS=$PWD/rec"
llvm-mneme-record --quiet --device=host -o rec -- "$app" 2000 > /dev/null

llvm-mneme-record --quiet --device=host --profile=profile.1.json -- "$app" 2000 > /dev/null

cp rec/*.json kernel-file.1.json
llvm-mneme-record list rec --json > record-list.1.json
llvm-mneme-record show rec --json > record-show.1.json
llvm-mneme-record check rec --json > record-check.1.json
llvm-mneme-record list-kernels "$app" --json > list-kernels.1.json
llvm-mneme-record copy rec other --json > record-copy.1.json
llvm-mneme-record prune other --json > record-copy.2.json
llvm-mneme-record source rec/*.json -o src --app="$app" > /dev/null
llvm-mneme-record compile src/kernel.cu -o same.bc --json > record-compile.1.json
sed 's/= fmaf(/= fmaff(/' src/kernel.cu > src/bad.cu
llvm-mneme-record compile src/bad.cu -o bad.bc --json > record-compile.2.json || test $? = 1

replay="llvm-mneme-replay rec --device=host --iterations=2"
$replay --source=src/bad.cu > replay.6.json || test $? = 2
$replay --source=src/kernel.cu --define=UNUSED=1 > replay.7.json
llvm-mneme-evolve evaluate rec --device=host --rounds=3 --perturb=1 --schedules=1 src/kernel.cu src/bad.cu > evolve-evaluate.1.json || test $? = 2
llvm-mneme-evolve rec src --device=host -o evolved --candidates=3 --inner=0 --perturb=1 --schedules=1 --quiet > /dev/null
cp evolved/report.json evolve.1.json
$replay --passes='default<O1>' --resources --baseline=recompiled --dataset=dataset.1.json > replay.1.json
$replay --mllvm=-unroll-count=2 --no-execute > replay.2.json
$replay --tolerance=abs:1 --dtype=f32 --grid-dim-x=1 > replay.3.json || test $? = 2
$emulated llvm-mneme-replay rec --device=cuda:0 --iterations=2 --resources > replay.4.json
llvm-mneme-record --quiet --device=host --kernel=compact -o varying -- "$4" > /dev/null
llvm-mneme-replay varying --device=host --iterations=1 --host-schedule=shuffled:77 > replay.5.json
llvm-mneme-replay assess varying --device=host --host-schedule=shuffled:77 > assess.2.json || test $? = 2
llvm-mneme-replay list-passes rec --passes='default<O1>' --format=json > list-passes.1.json
llvm-mneme-replay assess rec --device=host > assess.1.json
llvm-mneme-replay compare rec --device=host --good='default<O1>' > compare.1.json
llvm-mneme-replay compare rec --device=host --good='default<O1>' --criterion=regs > compare.2.json || test $? = 2
llvm-mneme-replay bisect rec --no-execute --criterion=regs > bisect.1.json || test $? = 2
ALIVE=wrong llvm-mneme-replay bisect rec --device=host "--load-pass-plugin=$3" --alive-tv="$(dirname "$0")/../../Bisect/Inputs/alive-tv" \
  '--passes=function(fault-counted<_Z5saxpyPKfPfi=2>)' > bisect.2.json
llvm-mneme-replay bisect rec --device=host "--load-pass-plugin=$3" \
  '--passes=function(fault-wrong<_Z5saxpyPKfPfi>)' > bisect.3.json
printf '#!/bin/sh\nexec ptxas "$@"\n' > ptxas-1
printf '#!/bin/sh\nexec ptxas "$@" -O0\n' > ptxas-2
chmod +x ptxas-1 ptxas-2
llvm-mneme-replay bisect rec --criterion=regs --threshold=0 --over=ptxas --good=ptxas-1 --bad=ptxas-2 > bisect-over.1.json ||
  test $? = 2
wrong="--load-pass-plugin=$3 --passes=planted<O1;wrong@_Z5saxpyPKfPfi#4>"
$replay --all --passes=O1 --passes=O3 --format=json $wrong > table.1.json || test $? = 2
guard="llvm-mneme-replay guard rec --device=host --load-pass-plugin=$3"
$guard --good=O1 --bad='planted<O1;wrong@_Z5saxpyPKfPfi#4>' --output=guarded > guard.1.json || test $? = 2
$guard --good=O1 --bad='planted<O1;slow@_Z5saxpyPKfPfi=2000#4>' --metrics=time,regs --threshold=100% --no-bisect > guard.2.json ||
  test $? = 2
$guard --bad=O1 --good='planted<O1;crash@_Z5saxpyPKfPfi#4>' --accept=guard.1.json > guard.3.json || test $? = 3
llvm-mneme-replay reduce rec --device=host --cross-checks=none --limit=1 --output=reduced --format=json $wrong > reduce.1.json
llvm-mneme-replay write-reproducer rec --device=host --cross-checks=none --program=gpu --output=reproducer $wrong > write-reproducer.1.json
llvm-mneme-tune rec --device=host --quiet --trials=3 --block-x=64,128 --retest=1 --pairs=6 --format=json \
  --explain=off --results-dir=study > summary.1.json
cp study/summary.json summary.2.json
cp study/best.json best.1.json
llvm-mneme-tune --all-kernels --device=host --quiet --trials=3 --block-x=64,128 --pairs=6 --explain=off --assess=off -o tuned \
  --format=json -- "$app" 2000 > application.1.json || test $? = 2
