package macsample

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(text []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(text), nil, profile.Limits{})
}

func TestGolden(t *testing.T) {
	text := readtest.File(t, "report.txt")
	p, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	readtest.Golden(t, "report.txt.golden", readtest.Describe(p))
	if !Sniff(text) || !Sniff(text[bytes.Index(text, []byte("Analysis")):]) || Sniff([]byte("Analysis of sampling methods\n")) {
		t.Error("not recognised by its first line")
	}
	// Every thread has been sampled 2,669 times.
	if p.Tables[0].Total() != 2*2669 || p.Interval != time.Millisecond || p.Start.Format(time.DateTime) != "2015-10-17 16:47:25" {
		t.Error(p.Tables[0].Total(), p.Interval, p.Start)
	}
	readtest.Damage(t, text, 5000, decode)
}

func TestErrors(t *testing.T) {
	const head = "Analysis of sampling shop (pid 1) every 1 millisecond\n\nCall graph:\n"
	for text, c := range map[string]struct {
		is   error
		says string
	}{
		"Analysis of sampling shop (pid 1) every 1 millisecond\n": {profile.ErrMalformed, "no call graph"},
		head + "    12\n":   {profile.ErrMalformed, "line 4"},
		head + "    main\n": {profile.ErrMalformed, "not a count"},
		head + "    1 T\n    + 1 a\n    +   1 b\n    +     1 c\n":                            {profile.ErrTooLarge, "--max-depth"},
		head + strings.Repeat("    9223372036854775807 T\n    + 9223372036854775807 a\n", 2): {profile.ErrMalformed, "63 bits"},
		head + "    1 T\n" + strings.Repeat("    + 9223372036854775807 a\n", 2):              {profile.ErrMalformed, "63 bits"},
	} {
		_, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 2})
		readtest.Refused(t, text, err, c.is, c.says)
	}
	p, err := decode([]byte(head + "    1 T\n    + 5 a\n\n"))
	if err != nil || len(p.Warnings) != 1 || p.Tables[0].Total() != 5 {
		t.Error(p, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(readtest.File(f, "report.txt"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decode(text)
		readtest.Sound(t, len(text), p, err)
		Sniff(text)
	})
}
