package server

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// emptyEntries sends messages of millions of entries that say nothing, of two bytes each: a hundred
// times as much in memory.
func emptyEntries(t *testing.T, p *process) {
	entries := func(tag string, size int) []byte { return bytes.Repeat([]byte(tag+"\x00"), size/2) }
	refused := func(what, answer, want string) {
		t.Helper()
		if !strings.Contains(answer, want) {
			t.Errorf("%s: %.300q, want %s", what, answer, want)
		}
	}
	client := clientAt("127.0.0.1")
	for name, tag := range map[string]string{"mappings": "\x1a", "locations": "\x22", "functions": "\x2a"} {
		content := append([]byte("\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x03cpu"), entries(tag, 30<<20)...)
		answer, err := p.ingest(client, "attacker", time.Now(), zipped(content))
		if err != nil {
			t.Fatal(err)
		}
		refused(name+" of pprof", answer, "400 ")
	}
	answer, err := post(client, p.http+"/v1development/profiles", "application/x-protobuf", zipped(entries("\x0a", 30<<20)))
	if err != nil {
		t.Fatal(err)
	}
	refused("resources of OTLP", answer, "times its size in memory")

	conn, err := grpc.NewClient(p.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	spans := field(nil, 1, entries("\x1a", 7<<20))
	for method, message := range map[string][]byte{
		"TraceSegmentReportService/collectInSync":    spans,
		"ManagementService/reportInstanceProperties": entries("\x1a", 7<<20),
	} {
		var reply []byte
		err := conn.Invoke(t.Context(), "/skywalking.v3."+method, &message, &reply)
		refused(method, status.Convert(err).Message(), "more than 65536 spans, tags and other parts")
	}
}
