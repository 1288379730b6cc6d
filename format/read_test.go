package format

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

const foldedText = "main;work 3\nmain;rest 1\n"

func gz(parts ...string) string {
	var b bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&b)
		io.WriteString(w, p)
		w.Close()
	}
	return b.String()
}

func zst(text string) string {
	w, _ := zstd.NewWriter(nil)
	return string(w.EncodeAll([]byte(text), nil))
}

func lz4ed(text string) string {
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

// foldedText as xz and bzip2 write it, for which there is no writer.
const (
	xzHex    = "fd377a585a000004e6d6b4460200210116000000742fe5a30100176d61696e3b776f726b20330a6d61696e3b7265737420310a00d3f01834cd992ab5000130188e1bacec1fb6f37d010000000004595a"
	bzip2Hex = "425a6839314159265359e2588971000007d980001040002808222b9c802000314c001341a87a9a1a64f484a7610207ba2ee2454a547e2ee48a70a121c4b112e2"
)

func hexed(text string) string {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// zipped returns a zip of names and contents in turn; a method of 0 stores.
func zipped(method uint16, files ...string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zstd.ZipMethodWinZip, zstd.ZipCompressor())
	for i := 0; i < len(files); i += 2 {
		f, err := w.CreateHeader(&zip.FileHeader{Name: files[i], Method: method})
		if err != nil {
			panic(err)
		}
		io.WriteString(f, files[i+1])
	}
	w.Close()
	return b.String()
}

func tarred(files ...string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644}
		if strings.HasSuffix(files[i], "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			panic(err)
		}
		io.WriteString(w, files[i+1])
	}
	w.Close()
	return b.String()
}

// read lists what Read gives: "name format total" or "name! error".
func read(r *Reader, name string, in io.Reader) (list []string) {
	for d, err := range r.Read(name, in) {
		if err != nil {
			list = append(list, fmt.Sprintf("%s! %v", d.Name, err))
			continue
		}
		list = append(list, fmt.Sprintf("%s %s %d", d.Name, d.Format.Name, d.Profile.Tables[d.Profile.Default].Total()))
	}
	return list
}

func TestRead(t *testing.T) {
	pb := string(encoded(t, "pprof", None))
	long := strings.Repeat("main;work 1\n", 100_000)
	nested := foldedText
	for range 4 {
		nested = gz(nested)
	}
	tests := []struct {
		name, content string
		want          []string
	}{
		{"plain", foldedText, []string{"x folded 4"}},
		{"long", long, []string{"x folded 100000"}},
		{"pprof", pb, []string{"x pprof 12"}},
		{"gzip", gz(foldedText), []string{"x folded 4"}},
		{"gzip, several members", gz(long, foldedText, foldedText), []string{"x folded 100008"}},
		{"zstd", zst(long), []string{"x folded 100000"}},
		{"zstd behind a skippable frame", "\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zst(pb), []string{"x pprof 12"}},
		{"lz4", lz4ed(long), []string{"x folded 100000"}},
		{"lz4 in gzip", gz(lz4ed(pb)), []string{"x pprof 12"}},
		{"bad lz4", lz4ed(long)[:len(lz4ed(long))/2], []string{"x! x: malformed: lz4"}},
		{"mark", "\xef\xbb\xbf" + foldedText, []string{"x folded 4"}},
		{"gzip with mark", gz("\xef\xbb\xbf" + foldedText), []string{"x folded 4"}},
		{"Very Sleepy", zipped(0, "Stats.txt", "Filename: x", "IPCounts.txt", "1"), []string{"x! x: a recording of Very Sleepy"}},
		{"xz", hexed(xzHex), []string{"x folded 4"}},
		{"xz in a zip", zipped(0, "a", hexed(xzHex)), []string{"x: a folded 4"}},
		{"bad xz", hexed(xzHex)[:40], []string{"x! x: malformed: xz"}},
		{"xz that needs a window of 1 GiB", hexed(strings.NewReplacer("210116000000742fe5a3", "2101240000005e1fc7f9").Replace(xzHex)),
			[]string{"x! x: xz: too large"}},
		{"bzip2", hexed(bzip2Hex), []string{"x folded 4"}},
		{"bad bzip2", hexed(bzip2Hex)[:40], []string{"x! x: malformed: bzip2"}},
		{"UTF-16 without a mark", utf16Of(long, false)[2:], []string{"x folded 100000"}},
		{"UTF-16 without a mark, big-endian", utf16Of(long, true)[2:], []string{"x folded 100000"}},
		{"UTF-16", utf16Of(long+"größe;𝔘 5\r\n", false), []string{"x folded 100005"}},
		{"UTF-16, big-endian", gz(utf16Of(long, true)), []string{"x folded 100000"}},
		{"four times", nested, []string{"x folded 4"}},
		{"five times", gz(nested), []string{"x! x: packed more than 4 times: unsupported"}},
		{"zip", zipped(zip.Deflate, "d/", "", "d/a.folded", foldedText, "b.pb.gz", gz(pb), "README", "no profile", "__MACOSX/d/._a", "x",
			".hidden", "x"), []string{
			"x: d/a.folded folded 4", "x: b.pb.gz pprof 12", "x: README! x: README: not a profile of a known format"}},
		{"zip, stored", zipped(zip.Store, "a", foldedText), []string{"x: a folded 4"}},
		{"zip with zstd", zipped(zstd.ZipMethodWinZip, "a", long), []string{"x: a folded 100000"}},
		{"zip without files", zipped(zip.Store, "d/", ""), []string{"x! x: not a profile of a known format: an archive without files"}},
		{"tar", tarred("d/", "", "d/a", foldedText, "d/.a", "", "b", pb), []string{"x: d/a folded 4", "x: b pprof 12"}},
		{"tar.gz with a zip of gz", gz(tarred("a.zip", zipped(zip.Deflate, "b.gz", gz(foldedText)), "c", foldedText)),
			[]string{"x: a.zip: b.gz folded 4", "x: c folded 4"}},
		{"a large zip in gzip", gz(zipped(zip.Store, "a", strings.Repeat(long, 5), "b", foldedText)),
			[]string{"x: a folded 500000", "x: b folded 4"}},
		{"bad members", tarred("a", gz("\xef\xbb\xbfmain;work 1\nmain;work 1\nmain x\n"), "b", gz(foldedText)[:20], "c", pb[:len(pb)-3], "d",
			"2ELIFREP", "e", foldedText), []string{
			"x: a! x: a:3: ", "x: b! x: b: malformed: gzip: unexpected EOF", "x: c! x: c: ", "x: d! x: d: a perf.data file of a big-endian machine: unsupported (convert it: perf script", "x: e folded 4"}},
		{"bad end of gzip", gz(foldedText)[:len(gz(foldedText))-1], []string{"x! x: "}},
		{"bad sum of gzip", strings.Replace(gz(foldedText), gz(foldedText)[len(gz(foldedText))-8:], "12345678", 1), []string{"x! x: "}},
		{"bad gzip", "\x1f\x8b\x08\x00zzzzzzzzzzz", []string{"x! x: malformed: gzip"}},
		{"bad zstd", "\x28\xb5\x2f\xfdzzzzzzzzzzzzzzzzzzz", []string{"x! x: malformed: zstd"}},
		{"bad zip", "PK\x03\x04zzzzzzzzzz", []string{"x! x: malformed: zip"}},
		{"cut tar", tarred("a", foldedText, "b", foldedText)[:1200], []string{"x: a folded 4", "x! x: malformed: tar"}},
		{"nothing", "", []string{"x! x: not a profile of a known format: it is empty"}},
		{"gzip of nothing", gz(""), []string{"x! x: not a profile of a known format: it is empty"}},
	}
	r := NewReader(profile.Limits{})
	for _, tt := range tests {
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		for kind, in := range map[string]io.Reader{
			"bytes": bytes.NewReader([]byte(tt.content)), "memory": bytes.NewBufferString(tt.content),
			"stream": io.MultiReader(strings.NewReader(tt.content)), "file": f,
			"slow": iotest.HalfReader(strings.NewReader(tt.content)), "late end": iotest.DataErrReader(strings.NewReader(tt.content)),
		} {
			got := read(r, "x", in)
			ok := len(got) == len(tt.want)
			for i := range got {
				ok = ok && strings.HasPrefix(got[i], tt.want[i]) && (strings.Contains(got[i], "!") || got[i] == tt.want[i])
			}
			if !ok {
				t.Errorf("%s (%s): %q, want %q", tt.name, kind, got, tt.want)
			}
		}
		f.Close()
	}
}

// both chains two sequences.
func both(a, b iter.Seq2[Decoded, error]) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) {
		for _, seq := range []iter.Seq2[Decoded, error]{a, b} {
			for d, err := range seq {
				if !yield(d, err) {
					return
				}
			}
		}
	}
}

// TestErrors looks at what errors are, beside their text.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name, content string
		is            error
		line          int
		offset        int64
	}{
		{"data", "\xef\xbb\xbfmain;work 1\nmain;work 2\nmain y\n", profile.ErrMalformed, 3, -2},
		{"data.folded", "no numbers at all\n", profile.ErrMalformed, 1, -2},
		{"data.folded.gz", gz("no numbers at all\n"), profile.ErrMalformed, 1, -2},
		{"data.txt", "no numbers at all\n", profile.ErrUnrecognized, 0, -1},
		{"data.pprof", "no profile", profile.ErrMalformed, 0, -2},
		{"data.unknown", "no profile", profile.ErrUnrecognized, 0, -1},
		{"data", gz(foldedText)[:15], profile.ErrMalformed, 0, -2},
		{"data", utf16Of("main;work 1\nmain;work 1\nmain y\n", true), profile.ErrMalformed, 3, -1},
	} {
		n := 0
		r := NewReader(profile.Limits{})
		for d, err := range both(r.Read(tt.name, strings.NewReader(tt.content)), r.Read(tt.name, bytes.NewBufferString(tt.content))) {
			n++
			pe, ok := err.(*profile.ParseError)
			if !ok || !errors.Is(err, tt.is) || pe.Source != tt.name || d.Name != tt.name || pe.Line != tt.line ||
				tt.offset != -2 && pe.Offset != tt.offset {
				t.Errorf("%.20q: %#v, want %v in line %d at %d", tt.content, err, tt.is, tt.line, tt.offset)
			}
			if strings.Count(err.Error(), tt.name) != 1 {
				t.Errorf("%.20q: the name is not there once: %v", tt.content, err)
			}
		}
		if n != 2 {
			t.Errorf("%.20q: %d errors", tt.content, n)
		}
	}
	broken := errors.New("disk on fire")
	for _, content := range []string{"", foldedText, gz(foldedText)[:20], "PK\x03\x04", tarred("a", foldedText)[:700]} {
		for _, err := range NewReader(profile.Limits{}).Read("x", io.MultiReader(strings.NewReader(content), iotest.ErrReader(broken))) {
			if !errors.Is(err, broken) || errors.Is(err, profile.ErrMalformed) {
				t.Errorf("%.20q: %v, want the disk's error", content, err)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	long := strings.Repeat("main;work 1\n", 10_000)
	members := tarred("a", foldedText, "b", long, "c", foldedText)
	const large = "content longer than 50000: too large (raise it with --max-size)"
	for _, tt := range []struct {
		name, content string
		want          []string
	}{
		{"plain", long, []string{"x! x: " + large}},
		{"gzip", gz(long), []string{"x! x: " + large}},
		{"zip", zipped(zip.Deflate, "a", foldedText, "b", long, "c", foldedText), []string{"x: a folded 4", "x: b! x: b: " + large}},
		{"tar", gz(members), []string{"x! x: " + large}},
		{"zip in gzip", gz(zipped(zip.Store, "b", long)), []string{"x! x: " + large}},
		{"fits", gz(foldedText), []string{"x folded 4"}},
	} {
		for _, in := range []io.Reader{io.MultiReader(strings.NewReader(tt.content)), bytes.NewBufferString(tt.content)} {
			got := read(NewReader(profile.Limits{Inflated: 50_000}), "x", in)
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
				t.Errorf("%s (%T): %q, want %q", tt.name, in, got, tt.want)
			}
		}
	}
	for d, err := range NewReader(profile.Limits{Message: 10}).Read("x", bytes.NewReader(encoded(t, "pprof", Gzip))) {
		if !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), "--max-message") {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
}

// TestBomb inflates a message of zeros, which is never held in memory.
func TestBomb(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(encoded(t, "pprof", None))
	// An unknown string of 200 MB behind a right profile.
	w.Write([]byte{6<<3 | 2, 0x80, 0x84, 0xaf, 0x5f})
	zeros := make([]byte, 1<<20)
	for range 191 {
		w.Write(zeros)
	}
	w.Close()
	for _, content := range []string{b.String(), zst(b.String()), zipped(zip.Store, "a", b.String()), tarred("a", b.String())} {
		for d, err := range NewReader(profile.Limits{}).Read("x", strings.NewReader(content)) {
			if !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), "inflates to more than 200 times its size") {
				t.Errorf("%s: %v", d.Name, err)
			}
		}
	}
	// It is no bomb uncompressed, or if it is small.
	if got := read(NewReader(profile.Limits{}), "x", strings.NewReader(gz(foldedText+string(zeros)))); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// TestTextBomb inflates 192 MiB of text of each format, none of which is read.
func TestTextBomb(t *testing.T) {
	for _, body := range []string{"a;b;c 1\n", "1 @ 0x1\n#\t0x1\tmain.f+0x1\ta.go:1\n\n", "p 1 1.0: c:\n\t1 f (x)\n\n"} {
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		if body[0] == '1' {
			w.Write([]byte("goroutine profile: total 1\n"))
		}
		chunk := []byte(strings.Repeat(body, 1<<20/len(body)))
		for range 192 {
			w.Write(chunk)
		}
		w.Close()
		began := readtest.CPUTime()
		for d, err := range NewReader(profile.Limits{}).Read("x", &b) {
			if !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), "decompress it first") {
				t.Errorf("%s %.10q: %v", d.Name, body, err)
			}
		}
		if took := readtest.CPUTime() - began; took > 10*time.Second {
			t.Errorf("%.10q took %s", body, took)
		}
	}
}

// TestMaxMemory reads stacks that are all different.
func TestMaxMemory(t *testing.T) {
	pr, pw := io.Pipe()
	go func() {
		w := bufio.NewWriter(pw)
		for i := range 50_000_000 {
			if _, err := fmt.Fprintf(w, "main;step%d;leaf%d 1\n", i, i); err != nil {
				return
			}
		}
		pw.Close()
	}()
	defer pr.Close()
	for d, err := range NewReader(profile.Limits{Memory: 100 << 20}).Read("x", pr) {
		if !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), "raise it with --max-memory") {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
}

func TestReaderStaysWarm(t *testing.T) {
	r := NewReader(profile.Limits{})
	read(r, "x", strings.NewReader(foldedText))
	s := r.Symbols()
	n := s.Stacks.Len()
	read(r, "x", strings.NewReader(gz(foldedText)))
	if n == 0 || r.Symbols() != s || s.Stacks.Len() != n {
		t.Errorf("%d stacks, then %d", n, s.Stacks.Len())
	}
	r.Reset()
	for d := range r.Read("x", strings.NewReader(foldedText)) {
		if d.Profile.Symbols == s || d.Profile.Symbols != r.Symbols() {
			t.Error("the old symbols after Reset")
		}
	}
}

func TestReadStops(t *testing.T) {
	for _, content := range []string{tarred("a", foldedText, "b", foldedText), zipped(zip.Deflate, "a", foldedText, "b", foldedText),
		gz(foldedText), tarred("a", "bad", "b", "bad")} {
		n := 0
		for range NewReader(profile.Limits{}).Read("x", strings.NewReader(content)) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%d values", n)
		}
	}
}

// FuzzRead reads anything: every error has a place and a known kind, every
// profile is valid.
func FuzzRead(f *testing.F) {
	pb := string(encoded(f, "pprof", None))
	for _, seed := range []string{
		foldedText, pb, gz(foldedText), gz(pb), zst(foldedText), zipped(zip.Deflate, "a", foldedText, "b.gz", gz(pb)), zipped(zip.Store, "a", pb),
		zipped(zstd.ZipMethodWinZip, "a", foldedText), tarred("d/", "", "a", foldedText, "b", "x"),
		gz(tarred("a.zip", zipped(zip.Store, "b", foldedText))),
		"\xef\xbb\xbf" + foldedText, utf16Of(foldedText, true), utf16Of(foldedText, false), utf16Of(foldedText, true)[2:], hexed(xzHex),
		hexed(bzip2Hex), zipped(0, "a", hexed(xzHex)), "2ELIFREP", "PK\x05\x06", "",
	} {
		f.Add([]byte(seed))
	}
	limits := profile.Limits{Inflated: 8 << 20, Message: 4 << 20, Line: 1 << 20}
	f.Fuzz(func(t *testing.T, content []byte) {
		Detect(content)
		n := 0
		for d, err := range NewReader(limits).Read("x", bytes.NewReader(content)) {
			n++
			if err != nil {
				if pe, ok := err.(*profile.ParseError); !ok || !classified(err) || pe.Source != d.Name || d.Profile != nil {
					t.Fatalf("%#v", err)
				}
				continue
			}
			if err := d.Profile.Check(); err != nil {
				t.Fatal(err)
			}
			if err := pprof.Encode(io.Discard, d.Profile, -1); err != nil {
				t.Fatal(err)
			}
		}
		if n == 0 {
			t.Log("an archive of hidden files only, or nothing in it")
		}
	})
}

// TestMemoryIsFree looks at what a decoder holds on to when the sequence has ended.
func TestMemoryIsFree(t *testing.T) {
	var kept io.Reader
	r := NewReader(profile.Limits{})
	r.formats = []Format{{Name: "keeping", Sniff: func([]byte) bool { return true }, NewDecoder: func() Decoder { return keeping{&kept} }}}
	for range r.Read("x", bytes.NewBufferString(foldedText)) {
	}
	if b, ok := kept.(*bytes.Buffer); !ok || b.Cap() > 0 {
		t.Errorf("%T holds the content", kept)
	}
}

type keeping struct{ in *io.Reader }

func (k keeping) Decode(in io.Reader, _ *profile.Symbols, _ profile.Limits) (*profile.Profile, error) {
	*k.in = in
	return nil, profile.ErrUnrecognized
}

// TestEmpty checks that a profile without samples says so, once, in every format.
func TestEmpty(t *testing.T) {
	for _, content := range []string{
		"# austin: 3.7.0\n# mode: full\n", "sample.interval=1000\n", `{"version":1.2,"mode":"cpu","interval":1,"samples":0,"gc_samples":0,"frames":{}}`,
		"{(\x03\x00\x00\x00s\x01\x00\x00\x00ai\x01\x00\x00\x00s\x01\x00\x00\x00f)\x05i\x01\x00\x00\x00i\x01\x00\x00\x00f\x010f\x010{00",
		`{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[]},"profiles":[]}`,
	} {
		for d, err := range NewReader(profile.Limits{}).Read("x", strings.NewReader(content)) {
			if err != nil || len(d.Profile.Warnings) != 1 || d.Format == nil {
				t.Errorf("%.40q: %v, %v", content, d.Profile, err)
			}
		}
	}
	for d, err := range NewReader(profile.Limits{}).Read("x", strings.NewReader("a;b 1\n")) {
		if err != nil || len(d.Profile.Warnings) != 0 {
			t.Error(d.Profile.Warnings, err)
		}
	}
}
