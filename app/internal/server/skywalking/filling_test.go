package skywalking

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestFilling reads what comes byte by byte, and demands large pieces, the end
// where it is, and errors as they are.
func TestFilling(t *testing.T) {
	text := strings.Repeat("x", 100)
	f := filling{iotest.OneByteReader(strings.NewReader(text))}
	p := make([]byte, 64)
	for _, want := range []int{64, 36} {
		if n, err := f.Read(p); n != want || err != nil {
			t.Errorf("%d bytes, %v, want %d", n, err, want)
		}
	}
	if n, err := f.Read(p); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d bytes, %v", n, err)
	}
	broken := filling{iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(text)))}
	if n, err := broken.Read(p); n != 1 || err != iotest.ErrTimeout {
		t.Errorf("a reader that fails: %d bytes, %v", n, err)
	}
}
