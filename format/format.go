// Package format reads and writes profiles of all formats: it tells by its
// content what a file is, takes off compression, archives and byte order marks,
// and calls the decoder of the format.
//
//	file ─▶ gzip zstd lz4 xz bzip2 zip tar, nested ─▶ UTF-16, BOM ─▶ Detect ─▶ Decoder ─▶ profile.Profile
//
// A format is a package below this one and one entry of the list in this file;
// nothing else knows which formats there are. A Reader belongs to one goroutine
// and keeps Symbols and decoders warm from file to file; Detect, Write and the
// functions about file names are for anyone.
//
// Text goes to its decoder as a stream, at whatever size. What must be held in
// memory whole is bounded by profile.Limits, and so is what compressed content
// may inflate to. File names decide nothing when reading: extensions serve
// writers, which have nothing else, and the names of benchmarks.
//
// The package does not walk directories, does not know runs or stores (package
// ingest) and does not change names (package normalize). docs/format describes
// detection, compression and each format.
package format

import (
	"fmt"
	"io"
	"strings"

	"github.com/dendroprof/dendro/format/apps"
	"github.com/dendroprof/dendro/format/austin"
	"github.com/dendroprof/dendro/format/caliper"
	"github.com/dendroprof/dendro/format/callgrind"
	"github.com/dendroprof/dendro/format/chrome"
	"github.com/dendroprof/dendro/format/firefox"
	"github.com/dendroprof/dendro/format/flamebearer"
	"github.com/dendroprof/dendro/format/flamehtml"
	"github.com/dendroprof/dendro/format/folded"
	"github.com/dendroprof/dendro/format/ghcprof"
	"github.com/dendroprof/dendro/format/goroutine"
	"github.com/dendroprof/dendro/format/gotrace"
	"github.com/dendroprof/dendro/format/gperftools"
	"github.com/dendroprof/dendro/format/heaptrack"
	"github.com/dendroprof/dendro/format/hierarchy"
	"github.com/dendroprof/dendro/format/hprof"
	"github.com/dendroprof/dendro/format/jfr"
	"github.com/dendroprof/dendro/format/macsample"
	"github.com/dendroprof/dendro/format/memray"
	"github.com/dendroprof/dendro/format/otlp"
	"github.com/dendroprof/dendro/format/perfdata"
	"github.com/dendroprof/dendro/format/perfscript"
	"github.com/dendroprof/dendro/format/phpspy"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/format/pstats"
	"github.com/dendroprof/dendro/format/pyinstrument"
	"github.com/dendroprof/dendro/format/pyspy"
	"github.com/dendroprof/dendro/format/reports"
	"github.com/dendroprof/dendro/format/rprof"
	"github.com/dendroprof/dendro/format/safari"
	"github.com/dendroprof/dendro/format/scalene"
	"github.com/dendroprof/dendro/format/speedscope"
	"github.com/dendroprof/dendro/format/stackprof"
	"github.com/dendroprof/dendro/format/threaddump"
	"github.com/dendroprof/dendro/format/tracestacks"
	"github.com/dendroprof/dendro/format/valgrind"
	"github.com/dendroprof/dendro/format/xhprof"
	"github.com/dendroprof/dendro/profile"
)

// Format is one file format. NewDecoder or Encode may be nil, not both.
type Format struct {
	// Name is short and stable: the value of Profile.Format and of --format.
	Name string
	// Title is for people.
	Title string
	// Extensions are with the dot; the first is the usual one. Suffixes of
	// compression are understood behind each.
	Extensions []string

	// Sniff reports whether content that begins with prefix is of this format.
	// A prefix shorter than PrefixSize is all of the content.
	Sniff func(prefix []byte) bool
	// Certain reports content of this format that no other one is like, which is asked
	// before all Sniffs; nil: there is none, or Sniff costs little.
	Certain func(prefix []byte) bool
	// NewDecoder returns a decoder for one goroutine; nil for a format that is
	// only written.
	NewDecoder func() Decoder
	// Encode writes one sample table, or with table -1 all that the format holds
	// in one file, uncompressed; nil for a format that is only read.
	Encode func(w io.Writer, p *profile.Profile, table int) error
	// Single says that a file holds one value type: Encode with table -1 writes
	// the default one, or both sides of a difference where that has a form.
	Single bool
	// OwnNames says that the format's own tool compares profiles by the names as they are
	// written: a diff of two such files normalises none, so that it equals the tool's.
	OwnNames bool

	gzipped []string // Extensions that are gzip by custom though they do not say so
	whole   bool     // the decoder holds the content in memory whole
}

// Decoder reads profiles of one format.
type Decoder = profile.Decoder

// All lists all formats in the order in which Detect asks: what can be told for
// certain comes before what is guessed. A further format is one more entry.
func All() []Format {
	return []Format{
		{
			Name: jfr.Name, Title: "JFR (JDK Flight Recorder, async-profiler)",
			Extensions: []string{".jfr"}, whole: true,
			Sniff: jfr.Sniff, NewDecoder: func() Decoder { return jfr.NewDecoder() },
		},
		{
			Name: flamehtml.Name, Title: "flame graph pages (async-profiler HTML, FlameGraph SVG)",
			Extensions: []string{".html", ".svg"}, whole: true,
			Sniff: flamehtml.Sniff, NewDecoder: func() Decoder { return flamehtml.NewDecoder() },
		},
		{
			Name: perfdata.Name, Title: "perf.data (Linux perf)",
			Extensions: []string{".perf.data"},
			Sniff:      perfdata.Sniff, NewDecoder: perfdata.NewDecoder,
		},
		{
			Name: pprof.Name, Title: "pprof (profile.proto)",
			Extensions: []string{".pb.gz", ".pb", ".pprof", ".prof"}, gzipped: []string{".pprof", ".prof"}, whole: true,
			Sniff: pprof.Sniff, NewDecoder: func() Decoder { return pprof.NewDecoder() }, Encode: pprof.Encode,
		},
		{
			Name: pprof.TextName, Title: "texts of pprof (-raw, -traces, threads, contention, Java)",
			Extensions: []string{".threadz"}, whole: true,
			Sniff: pprof.SniffText, NewDecoder: pprof.NewTextDecoder,
		},
		{
			Name: gperftools.CPUName, Title: "gperftools CPU profile",
			Extensions: []string{".cpuprof"},
			Sniff:      gperftools.SniffCPU, NewDecoder: gperftools.NewCPUDecoder,
		},
		{
			Name: otlp.Name, Title: "OpenTelemetry profiles (OTLP, protocol buffers and JSON)",
			Extensions: []string{".otlp"}, whole: true,
			Sniff: otlp.Sniff, NewDecoder: func() Decoder { return otlp.NewDecoder() }, Encode: otlp.Encode,
		},
		{
			Name: "otlp-json", Title: "OpenTelemetry profiles (OTLP) as JSON",
			Extensions: []string{".otlp.json"}, Encode: otlp.EncodeJSON,
		},
		{
			Name: firefox.Name, Title: "Firefox Profiler (processed and Gecko profiles)",
			Extensions: []string{".firefox.json", ".json"},
			Sniff:      firefox.Sniff, NewDecoder: firefox.NewDecoder, Encode: firefox.Encode, Single: true, OwnNames: true,
		},
		{
			Name: speedscope.Name, Title: "speedscope",
			Extensions: []string{".speedscope.json"},
			Sniff:      speedscope.Sniff, NewDecoder: speedscope.NewDecoder, Encode: speedscope.Encode, Single: true,
		},
		{
			Name: chrome.Name, Title: "Chrome trace events and V8 profiles",
			Extensions: []string{".cpuprofile", ".heapprofile", ".trace.json"},
			Sniff:      chrome.Sniff, NewDecoder: chrome.NewDecoder,
		},
		{
			Name: flamebearer.Name, Title: "Pyroscope flame graphs (flamebearer)",
			Extensions: []string{".flamebearer.json"},
			Sniff:      flamebearer.Sniff, NewDecoder: flamebearer.NewDecoder,
		},
		{
			Name: pyinstrument.Name, Title: "pyinstrument",
			Extensions: []string{".pyinstrument.json"},
			Sniff:      pyinstrument.Sniff, NewDecoder: pyinstrument.NewDecoder,
		},
		{
			Name: pstats.Name, Title: "cProfile (pstats)",
			Extensions: []string{".pstats"},
			Sniff:      pstats.Sniff, NewDecoder: pstats.NewDecoder,
		},
		{
			Name: stackprof.Name, Title: "stackprof (Ruby)",
			Extensions: []string{".stackprof"},
			Sniff:      stackprof.Sniff, NewDecoder: stackprof.NewDecoder,
		},
		{
			Name: xhprof.Name, Title: "XHProf, Tideways (PHP)",
			Extensions: []string{".xhprof"},
			Sniff:      xhprof.Sniff, NewDecoder: xhprof.NewDecoder,
		},
		{
			Name: austin.Name, Title: "austin (Python)",
			Extensions: []string{".austin"},
			Sniff:      austin.Sniff, NewDecoder: austin.NewDecoder,
		},
		{
			Name: rprof.Name, Title: "Rprof (R)",
			Extensions: []string{".rprof"},
			Sniff:      rprof.Sniff, NewDecoder: rprof.NewDecoder,
		},
		{
			Name: ghcprof.Name, Title: "GHC cost-centre profiles (Haskell)",
			Extensions: []string{".ghc.prof", ".ghc.json"},
			Sniff:      ghcprof.Sniff, NewDecoder: ghcprof.NewDecoder,
		},
		{
			Name: scalene.Name, Title: "Scalene (Python)",
			Extensions: []string{".scalene.json"},
			Sniff:      scalene.Sniff, NewDecoder: scalene.NewDecoder,
		},
		{
			Name: caliper.Name, Title: "Caliper (JSON of cali-query, literals of Hatchet)",
			Extensions: []string{".caliper.json"},
			Sniff:      caliper.Sniff, NewDecoder: caliper.NewDecoder,
		},
		{
			Name: safari.Name, Title: "timelines of Safari",
			Extensions: []string{".safari.json"},
			Sniff:      safari.Sniff, NewDecoder: safari.NewDecoder,
		},
		{
			Name: apps.SentryName, Title: "profiles of Sentry",
			Extensions: []string{".sentry.json"},
			Sniff:      apps.SniffSentry, NewDecoder: apps.NewSentryDecoder,
		},
		{
			Name: apps.DartName, Title: "CPU samples of Dart (Flutter DevTools)",
			Extensions: []string{".dart.json"},
			Sniff:      apps.SniffDart, NewDecoder: apps.NewDartDecoder,
		},
		{
			Name: hierarchy.Name, Title: "trees of flame graph widgets (d3-flame-graph)",
			Extensions: []string{".d3.json"},
			Sniff:      hierarchy.Sniff, NewDecoder: hierarchy.NewDecoder,
		},
		{
			Name: memray.Name, Title: "memray tables (memray transform csv)",
			Extensions: []string{".memray.csv"},
			Sniff:      memray.Sniff, NewDecoder: memray.NewDecoder,
		},
		{
			Name: phpspy.Name, Title: "phpspy, reli (PHP)",
			Extensions: []string{".phpspy"},
			Sniff:      phpspy.Sniff, NewDecoder: phpspy.NewDecoder,
		},
		{
			Name: gotrace.Name, Title: "execution traces of Go",
			Extensions: []string{".trace"},
			Sniff:      gotrace.Sniff, NewDecoder: gotrace.NewDecoder,
		},
		{
			Name: hprof.Name, Title: "hprof texts (Java 8)",
			Extensions: []string{".hprof.txt"},
			Sniff:      hprof.Sniff, NewDecoder: hprof.NewDecoder,
		},
		{
			Name: threaddump.Name, Title: "thread dumps (Java, Android, gdb)",
			Extensions: []string{".tdump", ".jstack"},
			Sniff:      threaddump.Sniff, NewDecoder: threaddump.NewDecoder,
		},
		{
			Name: threaddump.JavacoreName, Title: "javacore (thread dumps of J9)",
			Extensions: []string{".javacore"},
			Sniff:      threaddump.SniffJavacore, NewDecoder: threaddump.NewJavacoreDecoder,
		},
		{
			Name: gperftools.HeapName, Title: "gperftools heap profile",
			Extensions: []string{".heap"},
			Sniff:      gperftools.SniffHeap, NewDecoder: gperftools.NewHeapDecoder,
		},
		{
			Name: goroutine.Name, Title: "Go text profiles and tracebacks (debug=1, debug=2)",
			Extensions: []string{".goroutines"},
			Sniff:      goroutine.Sniff, NewDecoder: goroutine.NewDecoder,
		},
		{
			Name: pyspy.Name, Title: "py-spy dump",
			Extensions: []string{".pyspy"},
			Sniff:      pyspy.Sniff, NewDecoder: pyspy.NewDecoder,
		},
		{
			Name: macsample.Name, Title: "macOS sample (call graph reports)",
			Extensions: []string{".sample"},
			Sniff:      macsample.Sniff, NewDecoder: macsample.NewDecoder,
		},
		{
			Name: tracestacks.BPFTraceName, Title: "bpftrace stacks",
			Extensions: []string{".bpftrace"},
			Sniff:      tracestacks.SniffBPFTrace, NewDecoder: tracestacks.NewBPFTraceDecoder,
		},
		{
			Name: tracestacks.DTraceName, Title: "DTrace stacks",
			Extensions: []string{".dtrace"},
			Sniff:      tracestacks.SniffDTrace, NewDecoder: tracestacks.NewDTraceDecoder,
		},
		{
			Name: valgrind.MassifName, Title: "massif (Valgrind)",
			Extensions: []string{".massif"},
			Sniff:      valgrind.SniffMassif, NewDecoder: valgrind.NewMassifDecoder,
		},
		{
			Name: valgrind.DHATName, Title: "DHAT (Valgrind, Rust)",
			Extensions: []string{".dhat.json"},
			Sniff:      valgrind.SniffDHAT, NewDecoder: valgrind.NewDHATDecoder,
		},
		{
			Name: gperftools.JemallocName, Title: "jemalloc heap profile",
			Extensions: []string{".jemalloc.heap"},
			Sniff:      gperftools.SniffJemalloc, NewDecoder: gperftools.NewJemallocDecoder,
		},
		{
			Name: heaptrack.Name, Title: "heaptrack",
			Extensions: []string{".heaptrack"},
			Sniff:      heaptrack.Sniff, NewDecoder: heaptrack.NewDecoder,
		},
		{
			Name: reports.Name, Title: "reports (perf report, gprof, hot threads, VTune, Instruments)",
			Extensions: []string{".report"},
			Sniff:      reports.Sniff, NewDecoder: reports.NewDecoder,
		},
		{
			Name: perfscript.Name, Title: "perf script (Linux perf as text)",
			Extensions: []string{".perf", ".perfscript"},
			Sniff:      perfscript.Sniff, NewDecoder: perfscript.NewDecoder,
		},
		{
			Name: callgrind.Name, Title: "callgrind (Valgrind, KCachegrind, Xdebug)",
			Extensions: []string{".callgrind", ".cachegrind"},
			Sniff:      callgrind.Sniff, NewDecoder: callgrind.NewDecoder, Encode: callgrind.Encode,
		},
		{
			Name: "folded", Title: "folded (collapsed) stacks",
			Extensions: []string{".folded", ".collapsed", ".txt"},
			Sniff:      folded.Sniff, Certain: folded.Certain, NewDecoder: func() Decoder { return folded.NewDecoder() }, Encode: folded.Encode,
			Single: true,
		},
		{
			Name: "folded-diff", Title: "differential folded stacks (two counts a line: base and head)",
			Extensions: []string{".diff.folded"}, Encode: folded.EncodeDifferential,
		},
	}
}

// Lookup returns the format of that name. The error lists the names there are.
func Lookup(name string) (*Format, error) {
	var names []string
	for _, f := range All() {
		if f.Name == name {
			return &f, nil
		}
		names = append(names, f.Name)
	}
	return nil, fmt.Errorf("no format %q; there are %s", name, strings.Join(names, ", "))
}
