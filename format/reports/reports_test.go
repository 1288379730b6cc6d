package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(text []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(text), nil, profile.Limits{})
}

// perfTotal is the sum of the shares of the rows of the reports, in nanoseconds of the
// 669,750,000 that their head says.
const perfTotal = 669_750_000

// TestReports checks totals and the costs of functions against what the reports print.
func TestReports(t *testing.T) {
	ms := int64(1_000_000)
	for name, want := range map[string]struct {
		total int64 // of the default type; -1: as perf says, up to rounding
		costs map[string]readtest.Cost
	}{
		"perf-report.txt": {-1, map[string]readtest.Cost{"price": {Self: perfTotal / 10000 * 9851},
			"cart": {Total: perfTotal / 10000 * (7353 + 52)}}},
		"perf-report-flat.txt": {-1, map[string]readtest.Cost{"price": {Self: perfTotal / 10000 * 9851},
			"cart": {Total: perfTotal / 10000 * (7353 + 52)}}},
		"perf-report-fractal.txt": {-1, map[string]readtest.Cost{"price": {Self: perfTotal / 10000 * 9851},
			"cart": {Total: perfTotal / 10000 * 7451}}},
		"perf-report-children.txt": {-1, map[string]readtest.Cost{"price": {Self: perfTotal / 10000 * 9851}}},
		"gprof.txt": {600 * ms, map[string]readtest.Cost{"price": {Self: 600 * ms, Total: 600 * ms}, "cart": {Total: 450 * ms},
			"main": {Total: 600 * ms}}},
		"hotthreads.txt": {150 * ms, map[string]readtest.Cost{"org.example.Search.run": {Self: 30 * ms, Total: 90 * ms},
			"java.lang.Thread.run": {Self: 50 * ms, Total: 150 * ms}}},
		"vtune.csv": {3000 * ms, map[string]readtest.Cost{"price<int, 3>": {Self: 2250 * ms, Total: 2250 * ms}, "start": {Total: 2500 * ms},
			"cart": {Total: 750 * ms}}},
		"deepcopy.txt": {3000 * ms, map[string]readtest.Cost{"price": {Self: 2750 * ms, Total: 2750 * ms},
			"main": {Self: 250 * ms, Total: 3000 * ms}}},
		"xctrace.xml": {4 * ms, map[string]readtest.Cost{"price<int>": {Self: 2 * ms, Total: 2 * ms}, "main": {Total: 4 * ms},
			"cart": {Self: 2 * ms, Total: 2 * ms}}},
	} {
		text := readtest.File(t, name)
		if !Sniff(text) {
			t.Errorf("%s is not recognised", name)
		}
		p, err := decode(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		near := func(got, want int64) bool { return got == want }
		if want.total < 0 {
			want.total = perfTotal
			near = func(got, want int64) bool { return got > want-perfTotal/500 && got < want+perfTotal/500 }
		}
		if got := p.Tables[p.Default].Total(); !near(got, want.total) {
			t.Errorf("%s: %d in total, want %d", name, got, want.total)
		}
		costs := readtest.Costs(p, p.Default)
		for f, c := range want.costs {
			if got := costs[f]; c.Self > 0 && !near(got.Self, c.Self) || c.Total > 0 && !near(got.Total, c.Total) {
				t.Errorf("%s: %s has %v, want %v", name, f, got, c)
			}
		}
		readtest.Damage(t, text, 1500, decode)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]struct {
		is   error
		says string
	}{
		"Function Stack,CPU Time:Total\na,1\n":                                                                 {profile.ErrUnsupported, "CPU Time:Self"},
		"Function Stack,CPU Time:Self\na,x\n":                                                                  {profile.ErrMalformed, "not a time"},
		"Function Stack,CPU Time:Self\n" + "a,1\n b,1\n  c,1\n   d,1\n":                                        {profile.ErrTooLarge, "--max-depth"},
		string(deepHead) + "\n1 s\tx\t\ta\n":                                                                   {profile.ErrMalformed, "not a time"},
		"<?xml version=\"1.0\"?>\n<trace-query-result><row><backtrace id=\"1\"><frame ref=\"7\"/></backtrace>": {profile.ErrMalformed, "there is no frame"},
		"<?xml version=\"1.0\"?>\n<trace-query-result><row>&</row>":                                            {profile.ErrMalformed, "syntax"},
		"# Samples: 1 of event 'x'\n# Overhead  Symbol\n":                                                      {profile.ErrMalformed, "without a row"},
		"a b\n": {profile.ErrMalformed, "not a report"},
	} {
		_, err := NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{Depth: 3})
		readtest.Refused(t, text, err, want.is, want.says)
	}
	if Sniff([]byte("Process,Stack\n")) || Sniff([]byte("# comment\na;b 1\n")) || Sniff([]byte(`<?xml version="1.0"?><svg/>`)) {
		t.Error("another text is recognised")
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range readtest.Names(f, 9, "*.txt", "*.csv", "*.xml") {
		f.Add(readtest.File(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decode(text)
		readtest.Sound(t, len(text), p, err)
		Sniff(text)
	})
}
