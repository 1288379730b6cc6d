#!/bin/sh
# Checks the whole round of a task against a running server that speaks SkyWalking's
# protocols, SkyWalking's own OAP in particular:
#
#   ./check.sh HTTP GRPC      for example ./check.sh http://127.0.0.1:12800 127.0.0.1:11800
#
# It starts the shop, creates a task of one minute with GraphQL, makes requests, and
# wants computeTax and lockPrices in the analysis with about the time they took. It needs
# Go, curl and python3. The OAP may take a minute to know a service and to deliver tasks.
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

curl -sS "$url/checkout"
query '{"query":"mutation { t: createProfileTask(creationRequest: {serviceId: \"c2hvcA==.1\", endpointName: \"GET:/checkout\", duration: 1, minDurationThreshold: 0, dumpPeriod: 10, maxSamplingCount: 5}) { id errorReason } }"}' | tee "$dir/task"
echo
task=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["data"]["t"]["id"])' "$dir/task")
for i in $(seq 60); do
	grep -q 'task starts' "$dir/log" && break
	sleep 1
done
for i in 1 2 3 4 5; do curl -sS "$url/checkout"; done
for i in $(seq 60); do
	query "{\"query\":\"{ s: getProfileTaskSegments(taskID: \\\"$task\\\") { spans { segmentId startTime endTime profiled endpointName } } }\"}" >"$dir/segments"
	[ "$(python3 -c 'import json,sys; print(len(json.load(open(sys.argv[1]))["data"]["s"]))' "$dir/segments")" -ge 5 ] && break
	sleep 1
done
python3 - "$http" "$dir/segments" <<'P'
import json, statistics, sys, urllib.request

http, segments = sys.argv[1], json.load(open(sys.argv[2]))["data"]["s"]
seen = {"main.computeTax:": [], "main.(*shop).lockPrices:": []}
for segment in segments:
    span = segment["spans"][0]
    question = {"query": """query ($q: [SegmentProfileAnalyzeQuery!]!) { a: getSegmentsProfileAnalyze(queries: $q) {
        tip trees { elements { codeSignature duration } } } }""",
        "variables": {"q": [{"segmentId": span["segmentId"], "timeRange": {"start": span["startTime"], "end": span["endTime"]}}]}}
    request = urllib.request.Request(http + "/graphql", json.dumps(question).encode(), {"Content-Type": "application/json"})
    answer = json.load(urllib.request.urlopen(request))["data"]["a"]
    for name, list in seen.items():
        list.append(sum(e["duration"] for t in answer["trees"] for e in t["elements"] if e["codeSignature"].startswith(name)))
print(len(segments), "segments", seen)
for name, ms in (("main.computeTax:", 150), ("main.(*shop).lockPrices:", 120)):
    if len(segments) < 5 or abs(statistics.median(seen[name]) - ms) > 50:
        sys.exit(f"{name} took about {ms} ms and was seen {seen[name]}")
P
kill $shop
wait $shop || true
query "{\"query\":\"{ l: getProfileTaskLogs(taskID: \\\"$task\\\") { instanceName operationType } }\"}" | tee "$dir/logs"
echo
grep -q EXECUTION_FINISHED "$dir/logs" || { sleep 10; query "{\"query\":\"{ l: getProfileTaskLogs(taskID: \\\"$task\\\") { instanceName operationType } }\"}" | grep EXECUTION_FINISHED; }
