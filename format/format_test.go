package format

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/proftest"
)

func TestFormatsAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, f := range All() {
		if f.Name == "" || names[f.Name] || f.Title == "" || len(f.Extensions) == 0 || f.NewDecoder == nil && f.Encode == nil {
			t.Errorf("%+v", f)
		}
		names[f.Name] = true
		for _, e := range append(f.Extensions, f.gzipped...) {
			if !strings.HasPrefix(e, ".") || e != strings.ToLower(e) {
				t.Errorf("%s: extension %q", f.Name, e)
			}
		}
		for _, e := range f.gzipped {
			if !slices.Contains(f.Extensions, e) {
				t.Errorf("%s: %q is gzipped and no extension", f.Name, e)
			}
		}
		if got, err := Lookup(f.Name); err != nil || got.Name != f.Name {
			t.Errorf("Lookup(%q) = %v, %v", f.Name, got, err)
		}
	}
	if _, err := Lookup("xyz"); err == nil || !strings.Contains(err.Error(), "folded") {
		t.Errorf("Lookup of an unknown name: %v", err)
	}
}

func TestTrimExtensions(t *testing.T) {
	for _, tt := range []struct{ name, stem, ext string }{
		{"json.orders.collapsed.gz", "json.orders", "collapsed.gz"},
		{"cpu.pb.gz", "cpu", "pb.gz"},
		{"cpu.pb", "cpu", "pb"},
		{"dir.v1/cpu.PB.GZ", "dir.v1/cpu", "PB.GZ"},
		{"cpu.prof.zst", "cpu", "prof.zst"},
		{"all.tar.gz", "all", "tar.gz"},
		{"orders.speedscope.json.lz4", "orders", "speedscope.json.lz4"},
		{"v1.json.orders.diff.folded", "v1.json.orders", "diff.folded"},
		{"cpu", "cpu", ""},
		{"v1.2", "v1.2", ""},
		{".collapsed", ".collapsed", ""},
		{"a/.pb.gz", "a/.pb", "gz"},
		{"", "", ""},
	} {
		if stem, ext := TrimExtensions(tt.name); stem != tt.stem || ext != tt.ext {
			t.Errorf("TrimExtensions(%q) = %q, %q, want %q, %q", tt.name, stem, ext, tt.stem, tt.ext)
		}
	}
}

func TestTarget(t *testing.T) {
	for _, tt := range []struct {
		file, name, format string
		compression        Compression
	}{
		{"", "", "folded", None},
		{"-", "", "folded", None},
		{"-", "pprof", "pprof", None},
		{"x.collapsed", "", "folded", None},
		{"x.folded.zst", "", "folded", Zstd},
		{"X.FOLDED.GZ", "", "folded", Gzip},
		{"x.folded.lz4", "", "folded", LZ4},
		{"x.diff.folded.gz", "", "folded-diff", Gzip},
		{"x.speedscope.json", "", "speedscope", None},
		{"x.firefox.json.gz", "", "firefox", Gzip},
		{"a.callgrind", "", "callgrind", None},
		{"callgrind.out.12", "callgrind", "callgrind", None},
		{"x.otlp.zst", "", "otlp", Zstd},
		{"x.pb", "", "pprof", None},
		{"x.pb.gz", "", "pprof", Gzip},
		{"x.pb.zst", "", "pprof", Zstd},
		{"x.prof", "", "pprof", Gzip},
		{"x.pprof", "", "pprof", Gzip},
		{"x.pprof", "folded", "folded", None},
		{"x.y", "pprof", "pprof", None},
		{"x.y.gz", "pprof", "pprof", Gzip},
	} {
		f, c, err := Target(tt.file, tt.name)
		if err != nil || f.Name != tt.format || c != tt.compression {
			t.Errorf("Target(%q, %q) = %v, %q, %v, want %s, %q", tt.file, tt.name, f, c, err, tt.format, tt.compression)
		}
	}
	for _, file := range []string{"x", "x.gz", "x.y", "pb", "dir.pb/x"} {
		if f, _, err := Target(file, ""); err == nil || !strings.Contains(err.Error(), ".pb.gz") {
			t.Errorf("Target(%q) = %v, %v", file, f, err)
		}
	}
	if _, _, err := Target("x.pb", "xyz"); err == nil {
		t.Error("an unknown format is no error")
	}
}

func TestDetect(t *testing.T) {
	folded := "main;work 3\nmain 1\n"
	for _, tt := range []struct {
		name, content, format string
		err                   error
	}{
		{"folded", folded, "folded", nil},
		{"folded with mark", "\xef\xbb\xbf" + folded, "folded", nil},
		{"folded in UTF-16", utf16Of(folded, false), "folded", nil},
		{"folded in UTF-16, cut", utf16Of(strings.Repeat(folded, PrefixSize), true)[:PrefixSize], "folded", nil},
		{"pprof", string(encoded(t, "pprof", None)), "pprof", nil},
		{"perf.data", "2ELIFREP" + strings.Repeat("\x00", 100), "", profile.ErrUnsupported},
		{"nothing", "", "", profile.ErrUnrecognized},
		{"a mark and nothing", "\xef\xbb\xbf", "", profile.ErrUnrecognized},
		{"half a mark", "\xff", "", profile.ErrUnrecognized},
		{"prose", "It was a dark and stormy night.\n", "", profile.ErrUnrecognized},
		{"zeros", strings.Repeat("\x00", PrefixSize), "", profile.ErrUnrecognized},
	} {
		f, err := Detect([]byte(tt.content))
		if !errors.Is(err, tt.err) || tt.err == nil && f.Name != tt.format {
			t.Errorf("%s: %v, %v, want %s, %v", tt.name, f, err, tt.format, tt.err)
		}
		if pe, ok := err.(*profile.ParseError); err != nil && (!ok || errors.Is(err, profile.ErrUnsupported) == (pe.Hint == "")) {
			t.Errorf("%s: error %#v", tt.name, err)
		}
	}
}

func TestWrite(t *testing.T) {
	for _, name := range []string{"pprof", "folded", "otlp", "callgrind"} {
		for _, c := range []Compression{None, Gzip, Zstd, LZ4} {
			b := encoded(t, name, c)
			for d, err := range NewReader(profile.Limits{}).Read("x", bytes.NewReader(b)) {
				if err != nil || d.Format.Name != name || d.Profile.Tables[0].Total() != 12 {
					t.Errorf("%s %q: %v", name, c, err)
				}
			}
		}
	}
	f := &Format{Title: "read only"}
	if err := Write(nil, sampleProfile(), -1, f, None); err == nil {
		t.Error("a format that is not written is written")
	}
	for _, c := range []Compression{None, Gzip, Zstd, LZ4} {
		f := *mustLookup(t, "pprof")
		if err := Write(&bytes.Buffer{}, sampleProfile(), 7, &f, c); err == nil {
			t.Errorf("%q: an error of the encoder is lost", c)
		}
	}
}

func sampleProfile() *profile.Profile {
	return proftest.Columns(`
		×3  ×4  ×5
		A   A   B
		B   C   `)
}

// encoded returns the sample profile in a format.
func encoded(t testing.TB, name string, c Compression) []byte {
	t.Helper()
	f, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, sampleProfile(), 0, f, c); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// utf16Of returns text in UTF-16 with its mark.
func utf16Of(text string, big bool) string {
	var b []byte
	for _, c := range "\ufeff" + text {
		units := []uint16{uint16(c)}
		if c > 0xffff {
			c -= 0x10000
			units = []uint16{uint16(0xd800 + c>>10), uint16(0xdc00 + c&0x3ff)}
		}
		for _, u := range units {
			if big {
				b = append(b, byte(u>>8), byte(u))
			} else {
				b = append(b, byte(u), byte(u>>8))
			}
		}
	}
	return string(b)
}

func mustLookup(t testing.TB, name string) *Format {
	t.Helper()
	f, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
