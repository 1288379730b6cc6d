// Package reports reads the reports that profilers print or export for people, where they
// still have the stacks:
//
//   - `perf report --stdio` (perf.go);
//   - the flat profile and call graph of gprof (gprof.go);
//   - hot threads of Elasticsearch and OpenSearch (hotthreads.go);
//   - the CSV of VTune, the XML of `xctrace export` and deep copies of Instruments (exports.go).
//
// Values are as exact as printed: shares with two decimals, times that are rounded. What
// a report leaves out (calls below a percentage) is counted at the function that is left.
// docs/format/perf.md says for each what is read and lost. Reports of pprof itself are
// package pprof's, those of macOS's sample are package macsample's.
//
// Time is linear in the text; memory is bounded by what is different in it.
package reports

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "reports"

// kind is a kind of report.
type kind struct {
	profiler string
	sniff    func(prefix []byte) bool
	read     func(r *report) error
}

var kinds = []kind{
	{"perf", sniffPerf, readPerf},
	{"gprof", sniffGprof, readGprof},
	{"Elasticsearch", sniffHotThreads, readHotThreads},
	{"VTune", sniffVTune, readVTune},
	{"Instruments", sniffXctrace, readXctrace},
	{"Instruments", sniffDeepCopy, readDeepCopy},
}

// Sniff reports whether text that begins with prefix is one of the reports.
func Sniff(prefix []byte) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return k.sniff(prefix) })
}

// NewDecoder returns a decoder.
func NewDecoder() profile.Decoder { return stacktext.NewDecoder(Name, read) }

// prefixSize is how much of a report decides which it is, as in package format.
const prefixSize = 64 << 10

func read(t *stacktext.Reading) error {
	prefix := make([]byte, prefixSize)
	n, err := io.ReadFull(t.In, prefix)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	prefix = prefix[:n]
	for _, k := range kinds {
		if !k.sniff(prefix) {
			continue
		}
		t.Profile.Profiler = k.profiler
		t.In = io.MultiReader(bytes.NewReader(prefix), t.In)
		t.Reset(t.In, t.Limits.Line)
		r := &report{Reading: t}
		err := k.read(r)
		for _, of := range r.tables {
			t.Profile.Tables = append(t.Profile.Tables, of.Samples(of.typ, false, 0))
		}
		return err
	}
	return t.Malformed("not a report that is known")
}

// report is the reading of one report.
type report struct {
	*stacktext.Reading
	tables []*table
	key    []byte
}

// table is the samples of one value type.
type table struct {
	*stacktext.Table
	typ profile.ValueType
}

func (r *report) table(typ profile.ValueType) *table {
	t := &table{stacktext.NewTable(r.Limits), typ}
	r.tables = append(r.tables, t)
	return t
}

// add adds a sample.
func (r *report) add(t *table, row stacktext.Row) error {
	if row.Value < 0 || row.Value > 0 && !t.Add(row) {
		return r.At(stacktext.ErrSum)
	}
	return nil
}

// frame returns the frame of a function in a module.
func (r *report) frame(name, module []byte, kind profile.Kind) profile.FrameID {
	r.key = append(append(append(append(r.key[:0], name...), 0), module...), 0, byte(kind))
	frame, ok := r.Known.Find(r.key)
	if !ok {
		s := r.Profile.Symbols
		fn := profile.Function{Name: stacktext.Clean(name), Module: stacktext.Clean(module), Kind: kind}
		fn.Name = cmp.Or(fn.Name, profile.NoName)
		frame = s.Frame(profile.Frame{Function: s.Function(fn)})
		r.Known.Add(r.key, frame)
	}
	return frame
}

// open is a tree printed line by line: the functions that the line in work is below of.
type open struct {
	column int
	stack  profile.StackID
}

// call returns the stack of a frame whose line is indented to a column, below the lines of
// smaller columns.
func (r *report) call(path []open, column int, frame profile.FrameID) ([]open, error) {
	for len(path) > 0 && path[len(path)-1].column >= column {
		path = path[:len(path)-1]
	}
	if len(path) >= r.Limits.Depth {
		return nil, r.At(profile.TooDeep(r.Limits.Depth))
	}
	parent := profile.NoStack
	if len(path) > 0 {
		parent = path[len(path)-1].stack
	}
	return append(path, open{column, r.Profile.Symbols.Stack(parent, frame)}), nil
}

// decimal reads a number with a fraction; a comma ends its whole part in some languages. Ok is false
// for anything else, and for what is negative or more than 62 bits times scale.
func decimal(text []byte, scale float64) (int64, bool) {
	text = bytes.TrimSuffix(bytes.TrimSpace(text), []byte("%"))
	if bytes.IndexByte(text, '.') < 0 {
		text = bytes.Replace(text, []byte(","), []byte("."), 1)
	}
	if len(text) == 0 || text[0]-'0' > 9 && text[0] != '.' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	f *= scale
	return int64(math.Round(f)), err == nil && f >= 0 && f < 1<<62
}

// kindOf tells C++ by its names from other native code.
func kindOf(name []byte) profile.Kind {
	if bytes.Contains(name, []byte("::")) {
		return profile.KindCPP
	}
	return profile.KindNative
}
