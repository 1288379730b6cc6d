#!/bin/sh
# Checks the whole round of a task against a running server that speaks SkyWalking's
# protocols, SkyWalking's own OAP (see oap.sh) in particular:
#
#   ./check.sh HTTP GRPC      for example ./check.sh http://127.0.0.1:12800 127.0.0.1:11800
#
# It starts the shop, creates a task of one minute with GraphQL, requests /checkout and,
# concurrently, another endpoint, and expects each part of /checkout in the analysis with
# the time that the shop measured. It needs Go, curl and python3 and takes about 70 s,
# because the task ends by itself.
set -eu
http=$1 grpc=$2
cd "$(dirname "$0")"
dir=$(mktemp -d)
go build -o "$dir/shop" .
SW_AGENT_INSTANCE_NAME=check SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL=2 SW_AGENT_COLLECTOR_BACKEND_SERVICES=$grpc \
	"$dir/shop" -listen 127.0.0.1:0 >"$dir/url" 2>"$dir/log" &
shop=$!
trap 'kill $shop 2>/dev/null || true; cat "$dir/log"; rm -r "$dir"' EXIT
while ! grep -q http "$dir/url" 2>/dev/null; do sleep 0.1; done
url=$(cat "$dir/url")

query() {
	curl -sS -H 'Content-Type: application/json' -d "$1" "$http/graphql"
}

# await SECONDS WHAT COMMAND... repeats the command every second until it succeeds.
await() {
	for _ in $(seq "$1"); do
		(shift 2; "$@") >/dev/null && return
		sleep 1
	done
	echo "after $1 s: $2 not seen" >&2
	exit 1
}

segments() {
	query "{\"query\":\"{ s: getProfileTaskSegments(taskID: \\\"$task\\\") { spans { segmentId startTime endTime profiled endpointName } } }\"}" >"$dir/segments"
	[ "$(grep -o '"spans"' "$dir/segments" | wc -l)" -ge 5 ]
}

finished() {
	query "{\"query\":\"{ l: getProfileTaskLogs(taskID: \\\"$task\\\") { instanceName operationType } }\"}" >"$dir/logs"
	grep EXECUTION_FINISHED "$dir/logs"
}

curl -sS "$url/checkout"
query '{"query":"mutation { t: createProfileTask(creationRequest: {serviceId: \"c2hvcA==.1\", endpointName: \"GET:/checkout\", duration: 1, minDurationThreshold: 0, dumpPeriod: 10, maxSamplingCount: 5}) { id errorReason } }"}' | tee "$dir/task"
echo
task=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["data"]["t"]["id"])' "$dir/task")
await 60 "the task's start" grep 'task starts' "$dir/log"
for _ in 1 2 3 4 5; do
	curl -sS "$url/stock/pear" >/dev/null &
	curl -sS "$url/checkout"
done | tee "$dir/took"
await 60 "five segments" segments
python3 - "$http" "$dir/segments" "$dir/took" <<'P'
import json, statistics, sys, urllib.request

http, segments = sys.argv[1], json.load(open(sys.argv[2]))["data"]["s"]
took = [json.loads(line) for line in open(sys.argv[3])]
query = """query ($q: [SegmentProfileAnalyzeQuery!]!) { a: getSegmentsProfileAnalyze(queries: $q) {
    tip trees { elements { codeSignature duration } } } }"""

def analyze(span):
    variables = {"q": [{"segmentId": span["segmentId"], "timeRange": {"start": span["startTime"], "end": span["endTime"]}}]}
    request = urllib.request.Request(http + "/graphql", json.dumps({"query": query, "variables": variables}).encode(), {"Content-Type": "application/json"})
    answer = json.load(urllib.request.urlopen(request))["data"]["a"]
    return [e for t in answer["trees"] for e in t["elements"]]

def time(elements, name):
    return sum(e["duration"] for e in elements if e["codeSignature"].startswith("main.") and name + ":" in e["codeSignature"])

roots = [analyze(s["spans"][0]) for s in segments]
# The receipt is printed in a goroutine, and so in a segment, of its own, for 50 ms.
receipts = [analyze(span) for s in segments for span in s["spans"] if span["segmentId"] != s["spans"][0]["segmentId"] and span["profiled"]]
failed = False
for name, true, seen in [(n, [t[n] for t in took], [time(r, n) for r in roots]) for n in took[0]] + [
    ("printReceipt", [50], [time(r, "printReceipt") for r in receipts] or [0]), ("stock", [0], [max(time(r, ".stock") for r in roots)])]:
    print(f"{name}: took {[round(t) for t in true]} ms, seen {seen} ms")
    want, got = statistics.median(true), statistics.median(seen)
    if abs(want - got) > max(want / 10, 2 * 10) + 10:  # 10 % or two periods, and 10 ms for a busy machine
        print(f"{name} took {want:.0f} ms in the median and was seen {got:.0f} ms")
        failed = True
sys.exit(failed)
P
await 90 "the task's end" finished
kill $shop
wait $shop || true
cat "$dir/logs"
echo
