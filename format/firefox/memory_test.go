package firefox

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// repeated reads head, then text as often as it fits size, then tail.
func repeated(head, text string, size int, tail string) io.Reader {
	return io.MultiReader(strings.NewReader(head), &endless{text: text, left: size / len(text) * len(text)}, strings.NewReader(tail))
}

type endless struct {
	text     string
	at, left int
}

func (e *endless) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), e.left)], e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	e.left -= n
	return n, nil
}

// allocated decodes and returns how many bytes that allocated.
func allocated(t *testing.T, r io.Reader) (*profile.Profile, uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := NewDecoder().Decode(r, nil, profile.Limits{})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	return p, after.TotalAlloc - before.TotalAlloc
}

// TestMemory reads files that are much larger than what is kept of them.
func TestMemory(t *testing.T) {
	const size = 16 << 20
	cut := strings.Split(small(`"samples":{"stack":[HERE]}`), "HERE")
	p, used := allocated(t, repeated(cut[0], "0,1,null,2,", size, "0"+cut[1]))
	if rows := p.Tables[0].Count(); rows != size/11*4+1 || p.Tables[0].Len() > 10 || used > uint64(rows)*80 {
		t.Errorf("%d bytes for %d samples", used, rows)
	}
	cut = strings.Split(small(`"samples":{"stack":[0]},"left out":[HERE]`), "HERE")
	if _, used = allocated(t, repeated(cut[0], `{"a":["x",{"b":1.5}]},`, size, "0"+cut[1])); used > 2<<20 {
		t.Errorf("%d bytes for what is left out", used)
	}
	if _, used = allocated(t, repeated(cut[0][:strings.Index(cut[0], `,"left out"`)]+"},", `{},`, 1<<20, "{}]}")); used > 500<<20 {
		t.Errorf("%d bytes for empty threads", used)
	}
}
