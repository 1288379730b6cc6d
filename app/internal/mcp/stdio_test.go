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

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"

// TestInputEnds: what came before the end of the input is answered, also without a line break
// at the end; a line that is no message is answered with an error, and what follows is
// answered too.
func TestInputEnds(t *testing.T) {
	for range 20 { // answers and the end of the input race
		var out bytes.Buffer
		in := hello + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			"no JSON\n\n{}\n42\n[1]\n{\"jsonrpc\":\"2.0\",\"id\":{}}\n" +
			`{"jsonrpc":"2.0","id":"two","method":"tools/list"}` + "\n" +
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"runs","arguments":{}}}`
		if err := Serve(t.Context(), &endpoint.Local{Store: mem.New()}, strings.NewReader(in), &out, Options{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"id":1,`, `"id":"two",`, `"id":3,`, `"code":-32700`, `"code":-32600`} {
			if !strings.Contains(out.String(), want) {
				t.Fatalf("no %s in %.1000s", want, out.String())
			}
		}
		if n := strings.Count(out.String(), `"id":null`); n != 5 {
			t.Fatalf("%d lines were refused: %.1000s", n, out.String())
		}
	}
}

// TestSameID: a request that has the id of one without an answer yet is refused, and nobody waits for its answer.
func TestSameID(t *testing.T) {
	const calls = 50
	var out bytes.Buffer
	in := hello + strings.Repeat(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n", calls)
	if err := Serve(t.Context(), &endpoint.Local{Store: mem.New()}, strings.NewReader(in), &out, Options{}); err != nil {
		t.Fatal(err)
	}
	answers, refused := strings.Count(out.String(), `"id":2,`), strings.Count(out.String(), errSameID.Error())
	if answers == 0 || answers+refused != calls {
		t.Errorf("%d answers, and %d requests refused: %.1000s", answers, refused, out.String())
	}
}

// TestHostileInput: what a client writes to the input of `dendro mcp` ends the process with
// an error at worst, and takes no more memory than a line may have.
func TestHostileInput(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"a line without an end": io.MultiReader(strings.NewReader(hello+`{"jsonrpc":"2.0","id":2,"method":"`),
			io.LimitReader(endless{}, 512<<20)),
		"deep lists":     strings.NewReader(hello + strings.Repeat("[", 5_000_000) + "\n"),
		"deep arguments": strings.NewReader(hello + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"top","arguments":` + strings.Repeat(`{"a":`, 1_000_000) + "\n"),
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
