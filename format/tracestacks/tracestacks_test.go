package tracestacks

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(text []byte) (*profile.Profile, error) {
	d := NewDTraceDecoder()
	if SniffBPFTrace(text) {
		d = NewBPFTraceDecoder()
	}
	return d.Decode(bytes.NewReader(text), nil, profile.Limits{})
}

func TestGolden(t *testing.T) {
	for _, name := range readtest.Names(t, 2, "*.txt") {
		text := readtest.File(t, name)
		if bpf := strings.HasPrefix(name, "bpf"); SniffBPFTrace(text) != bpf || SniffDTrace(text) == bpf {
			t.Errorf("%s is not recognised", name)
		}
		p, err := decode(text)
		if err != nil {
			t.Fatal(err)
		}
		readtest.Golden(t, name+".golden", readtest.Describe(p))
		readtest.Damage(t, text, 3000, decode)
	}
}

// TestTotals adds up the counts of the recording with awk.
func TestTotals(t *testing.T) {
	p, err := decode(readtest.File(t, "bpftrace-0.17.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]string{"": profile.CPUSamples, "perf": "perf", "ns": "ns"} {
		i, err := p.Table(table)
		if err != nil {
			t.Fatal(err)
		}
		program := `/^@/ { map = $0; sub(/\[.*/, "", map) } /\]: [0-9]+$/ { sub(/.*\]: /, ""); sum[map] += $0 } END { print sum["@` + name + `"] }`
		out, err := exec.Command("awk", program, "testdata/bpftrace-0.17.txt").Output()
		if err != nil {
			t.Skip(err)
		}
		if want := strings.TrimSpace(string(out)); want != fmt.Sprint(p.Tables[i].Total()) {
			t.Errorf("@%s: %d, want %s", name, p.Tables[i].Total(), want)
		}
	}
}

func TestFrames(t *testing.T) {
	for text, want := range map[string]string{
		"vfs_read+1":                            "vfs_read",
		"shop::operator+(int)+16":               "shop::operator+(int)",
		"0x563ef8749378":                        "0x563ef8749378 0x563ef8749378",
		"7fd3e8 0x7fd3e8 ([unknown])":           "0x7fd3e8 0x7fd3e8",
		"ffff81 do_syscall+12 ([kernel])":       "[kernel]!do_syscall 0xffff81",
		"7fd3e8 shop::price(int)+4 (/srv/shop)": "shop!shop::price(int) 0x7fd3e8",
		"libc.so.1`__read+0x15":                 "libc.so.1!__read",
		"+12":                                   "+12",
	} {
		p, err := NewBPFTraceDecoder().Decode(strings.NewReader("@[\n    "+text+"\n]: 1\n"), nil, profile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := readtest.DescribeStack(p.Symbols, 0); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, c := range map[string]struct {
		is   error
		says string
	}{
		"@[\n    a\n    b\n    c\n]: 1\n":                        {profile.ErrTooLarge, "--max-depth"},
		"@[\n    a\n":                                            {profile.ErrMalformed, "no stack"},
		"@h[\n    a\n]: \n[4, 8) 1 |@@|\n":                       {profile.ErrMalformed, "no stack"},
		strings.Repeat("@[\n    a\n]: 9223372036854775807\n", 2): {profile.ErrMalformed, "63 bits"},
	} {
		_, err := NewBPFTraceDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 2})
		readtest.Refused(t, text, err, c.is, c.says)
	}
	_, err := NewDTraceDecoder().Decode(strings.NewReader("nothing\n"), nil, profile.Limits{})
	readtest.Refused(t, "dtrace", err, profile.ErrMalformed, "no stack")
}

func TestSniffOthers(t *testing.T) {
	for _, text := range []string{"", "@[comm]: 5\n", "@[a;b]: 5\n@[\n", "a;b 1\n", "    a`b\n", "     text `quoted`\n 12 x\n"} {
		if SniffBPFTrace([]byte(text)) || SniffDTrace([]byte(text)) {
			t.Errorf("%q is recognised", text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range readtest.Names(f, 2, "*.txt") {
		f.Add(readtest.File(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, d := range []profile.Decoder{NewBPFTraceDecoder(), NewDTraceDecoder()} {
			p, err := d.Decode(bytes.NewReader(text), nil, profile.Limits{})
			readtest.Sound(t, len(text), p, err)
		}
		SniffBPFTrace(text)
		SniffDTrace(text)
	})
}
