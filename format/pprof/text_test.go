package pprof

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	oracle "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decodeText(content []byte) (*profile.Profile, error) {
	return NewTextDecoder().Decode(bytes.NewReader(content), nil, profile.Limits{})
}

// texts returns the files of testdata/text by name.
func texts(t testing.TB) map[string][]byte {
	names, _ := filepath.Glob("testdata/text/[js]*.[chrt]*")
	if len(names) != 7 {
		t.Fatal(names)
	}
	all := map[string][]byte{}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = content
	}
	return all
}

// TestText reads each of the older formats; the totals are those of the files.
func TestText(t *testing.T) {
	for name, want := range map[string]struct {
		function string
		totals   []int64
		self     int64 // of the function, in the last table
	}{
		"shop.threadz":     {"0x401f1c", []int64{3}, 1},
		"shop.contentionz": {"0x401c96", []int64{2800, 210_000}, 210_000},
		"java.heapz":       {"shop.Price.of", nil, 0},
		"java.contentionz": {"shop.Stock.take", []int64{200, 1400}, 1400},
		"java.cpuz":        {"shop.Price.of", []int64{12, 120_000_000}, 70_000_000},
	} {
		content := texts(t)[name]
		if !SniffText(content) {
			t.Errorf("%s is not recognised", name)
		}
		p, err := decodeText(content)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		o, err := oracle.ParseData(content)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Tables {
			sum := int64(0)
			for _, s := range o.Sample {
				sum += s.Value[i]
			}
			if got := p.Tables[i].Total(); got != sum || want.totals != nil && got != want.totals[i] {
				t.Errorf("%s: %s is %d in total, pprof has %d", name, p.Tables[i].Type.Name, got, sum)
			}
		}
		if got, ok := readtest.Costs(p, len(p.Tables)-1)[want.function]; !ok || want.self > 0 && got.Self != want.self {
			t.Errorf("%s: %s is %v of %v", name, want.function, got, readtest.Costs(p, len(p.Tables)-1))
		}
		if p.Format != TextName {
			t.Error(p.Format)
		}
		readtest.Damage(t, content, 3000, decodeText)
	}
	if SniffText([]byte("--- Thread dump ---\n")) || SniffText([]byte("heap profile: 1: 2 [3: 4] @ heap/1\n")) {
		t.Error("another text is recognised")
	}
}

// TestPrinted compares what pprof prints of a profile with the profile.
func TestPrinted(t *testing.T) {
	whole := mustDecode(t, readtest.File(t, "text/shop.pb.gz"))
	for name, first := range map[string]int{"shop.raw": 0, "shop.traces": 1} {
		content := texts(t)[name]
		if !SniffText(content) {
			t.Errorf("%s is not recognised", name)
		}
		p, err := decodeText(content)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Tables {
			if diff := cmp.Diff(readtest.Costs(whole, first+i), readtest.Costs(p, i)); diff != "" {
				t.Error(name, diff)
			}
		}
		if len(p.Tables) != 2-first {
			t.Errorf("%s: %d types", name, len(p.Tables))
		}
		readtest.Damage(t, content, 3000, decodeText)
	}
	for value, want := range map[string]int64{"960ms": 960e6, "1.20s": 1.2e9, "1.50mins": 90e9, "512kB": 512 << 10, "0.50MB": 1 << 19,
		"12": 12} {
		if got, _, err := printedValue(value); got != want || err != nil {
			t.Errorf("%s is %d, %v", value, got, err)
		}
	}
}

// TestPrintedDuration reads the line of which pprof prints four characters: whole with its unit,
// or cut.
func TestPrintedDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"1.5s": 1500 * time.Millisecond, "30ms": 30 * time.Millisecond, "399.": 0, "30.0": 0,
		"1m30": 0, "": 0} {
		p, err := decodeText([]byte("PeriodType: cpu nanoseconds\nPeriod: 10\nDuration: " + text + "\nSamples:\ncpu/nanoseconds\n  10: 1\nLocations\n  1: 0x1 f x.go:1:0 s=0\nMappings\n"))
		if err != nil || p.Duration != want {
			t.Errorf("%q: %v, %v, want %v", text, p, err, want)
		}
	}
}

func FuzzDecodeText(f *testing.F) {
	for _, content := range texts(f) {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := decodeText(content)
		readtest.Sound(t, len(content), p, err)
		SniffText(content)
	})
}
