# replay-all.sh llvm-mneme-replay FOLDER: replays each kernel of the folder, of which
# there must be one and whose results must be the recorded ones.
for file in "$2"/*.json; do
  "$1" "$file" --device=host --iterations=1 | grep '"verdict": "Match"' || exit 1
done
