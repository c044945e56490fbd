"""openevolve.py FOLDER ITERATIONS: runs OpenEvolve on the files of init-openevolve for matmul.cu, with a stub for the language
model: a server on loopback that proposes a comment, or, once, the fast version."""
import http.server
import json
import os
import subprocess
import sys
import threading

FOLDER, ITERATIONS = sys.argv[1], sys.argv[2]
SLOW = "  constexpr int Rounds = 8;"
FAST = "  constexpr int Rounds = 1;"
asked = []


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *unused):
        pass

    def do_POST(self):
        asked.append(self.rfile.read(int(self.headers["Content-Length"])))
        search, replace = "  float Sum = 0;", "  // Version %d\n  float Sum = 0;" % len(asked)
        if len(asked) == 3:
            search, replace = SLOW, FAST
        text = "<<<<<<< SEARCH\n%s\n=======\n%s\n>>>>>>> REPLACE\n" % (search, replace)
        answer = json.dumps({"id": "1", "object": "chat.completion", "created": 0, "model": "stub", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(os.path.join(FOLDER, "config.yaml")) as file:
    config = json.load(file)
config["llm"] = {"api_base": "http://127.0.0.1:%d/v1" % server.server_port, "api_key": "none",
                 "models": [{"name": "stub", "weight": 1.0}], "retries": 0}
with open(os.path.join(FOLDER, "config.yaml"), "w") as file:
    json.dump(config, file)
environment = {**os.environ, "no_proxy": "127.0.0.1", "OPENAI_API_KEY": "none"}
command = [sys.executable, "-m", "openevolve.cli", "initial_program.cu", "evaluator.py", "--config", "config.yaml",
           "--iterations", ITERATIONS, "--output", "out"]
status = subprocess.run(command, cwd=FOLDER, env=environment).returncode
print("openevolve: exit code %d, %d questions, feedback: %s"
      % (status, len(asked), any(b"times as fast as the original" in q for q in asked)))
with open(os.path.join(FOLDER, "out", "best", "best_program_info.json")) as file:
    print("best score %.2f" % json.load(file)["metrics"]["combined_score"])
with open(os.path.join(FOLDER, "out", "best", "best_program.cu")) as file:
    print("best has the fast loop: %s" % (FAST in file.read()))
