package command

import "testing"

// TestEscapeLines: the stack of a benchmark that panicked stays readable, and nothing steers the terminal.
func TestEscapeLines(t *testing.T) {
	const said = "head: 1.test: exit status 2\npanic: half \x1b[2Jway\nmain.work(0x1)\n\t/src/work.go:13 +0xb2\r\u202e\n \t::error::x"
	const want = "head: 1.test: exit status 2\npanic: half \\x1b[2Jway\nmain.work(0x1)\n\t/src/work.go:13 +0xb2\\r\\u202e\\n \t::error::x"
	if got := EscapeLines(said); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}
