package mcp

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/store/mem"
)

// TestHostileInput: what a client writes to the input of `dendro mcp` ends the process with
// an error at worst, and takes no more memory than a line may have.
func TestHostileInput(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	for name, in := range map[string]io.Reader{
		"a line without an end": io.MultiReader(strings.NewReader(hello+`{"jsonrpc":"2.0","id":2,"method":"`), io.LimitReader(endless{}, 512<<20)),
		"deep lists":            strings.NewReader(hello + strings.Repeat("[", 5_000_000) + "\n"),
		"deep arguments":        strings.NewReader(hello + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"top","arguments":` + strings.Repeat(`{"a":`, 1_000_000) + "\n"),
		"no JSON":               strings.NewReader(hello + "\x00\xff\xfe\n"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var out bytes.Buffer
		if err := Serve(t.Context(), &endpoint.Local{Store: mem.New()}, in, &out, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
		runtime.ReadMemStats(&after)
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 256<<20 {
			t.Errorf("%s: %d bytes allocated", name, bytes)
		}
		if out.Len() > 1<<20 {
			t.Errorf("%s: an answer of %d bytes", name, out.Len())
		}
	}
}

// endless is a text without a line break.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
