#!/bin/sh
# An llvm-reduce of 45 passes, 5 of which a reduction skips. It tests the same again until the test fails.
if [ "$1" = --print-delta-passes ]; then
  echo ' IR:'
  seq 45
  echo ' MIR:'
  exit
fi
for arg; do
  case $arg in
  --test=*) test=${arg#--test=} ;;
  *.bc) file=$arg ;;
  esac
done
echo '*** Reducing Functions (functions)...'
echo '*** Reducing Instructions (instructions)...'
yes '' | head -5000 >> "$TMPDIR/tests"
while "$test" "$file"; do
  sleep 1
done
