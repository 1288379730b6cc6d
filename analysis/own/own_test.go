package own_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/own"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// table builds a call tree of one stack per line, `name[=file][,kind];…`, with one
// sample each.
func table(t *testing.T, kind profile.Kind, lines ...string) (*calltree.Table, []float64) {
	t.Helper()
	f := &calltree.Forest{}
	paths := map[int32]float64{}
	for _, line := range lines {
		at := calltree.NoNode
		for frame := range strings.SplitSeq(line, ";") {
			name, file, _ := strings.Cut(frame, "=")
			at = f.Path(at, f.Function(profile.Function{Name: name, File: file, Kind: kind}))
		}
		paths[at]++
	}
	cut := f.Cut(slices.Collect(maps.Keys(paths)))
	samples := make([]float64, cut.Len())
	for n, p := range cut.Paths {
		samples[n] = paths[p]
	}
	return cut.Table, samples
}

func TestFunctions(t *testing.T) {
	for _, c := range []struct {
		name     string
		kind     profile.Kind
		stacks   []string
		prefixes []string
		want     string // own functions, in the order of the stacks
	}{
		{"go with files", profile.KindGo, []string{
			"runtime.main=runtime/proc.go;github.com/acme/shop/cart.Sum[go.shape.struct { a/b.C }]=github.com/acme/shop/cart/sum.go;github.com/pkg/errors.New=github.com/pkg/errors@v0.9.1/errors.go;strconv.Itoa=strconv/itoa.go"},
			nil, "github.com/acme/shop/cart.Sum[go.shape.struct { a/b.C }]"},
		{"go without files: main comes first", profile.KindUnknown, []string{"runtime.main;main.main;github.com/alecthomas/chroma/v2.Tokens;regexp.Match"}, nil, "main.main"},
		{"go without main", profile.KindUnknown, []string{"runtime.main;testing.(*B).runN;github.com/acme/shop.BenchmarkA;github.com/lib/pq.Open;github.com/acme/shop/tax.Rate"}, nil,
			"github.com/acme/shop.BenchmarkA github.com/acme/shop/tax.Rate"},
		{"java by the outermost module", profile.KindJava, []string{"java.lang.Thread.run;shop.bench.Suite.main;shop.search.Join.query;org.h2.Command.run;util.fast.Map.get"}, nil,
			"shop.bench.Suite.main shop.search.Join.query"},
		{"java of a domain", profile.KindJava, []string{"org.openjdk.jmh.Main.main;com.acme.shop.Bench.run;com.other.lib.Parser.next;com.acme.Tax.rate"}, nil, "com.acme.shop.Bench.run com.acme.Tax.rate"},
		{"python by file", profile.KindPython, []string{"run=/srv/app/main.py;get=/usr/lib/python3/dist-packages/requests/api.py;loads=/opt/lib/python3.12/json/__init__.py;total=/srv/app/cart.py;find=<frozen importlib._bootstrap>"}, nil, "run total"},
		{"javascript by file", profile.KindJS, []string{"main=file:///srv/app/main.js;next=/srv/app/node_modules/express/lib/router.js;emit=node:events"}, nil, "main=file"},
		{"native", profile.KindNative, []string{"_start;main;std::sort;compare"}, nil, "main compare"},
		{"rust", profile.KindNative, []string{"main;std::rt::lang_start_internal;shop::main;criterion::bencher::Bencher<M>::iter;" +
			"<alloc::vec::Vec<T> as alloc::vec::spec_from_iter::SpecFromIter<T,I>>::from_iter;<T as alloc::string::ToString>::to_string;" +
			"<&mut core::slice::Iter<shop::Item> as core::iter::Iterator>::next;<shop::Cart as core::fmt::Display>::fmt;<T as shop::Priced>::price"}, nil,
			"main shop::main <shop::Cart as core::fmt::Display>::fmt <T as shop::Priced>::price"},
		{"root of a flame graph", profile.KindJava, []string{"all;http-nio-8080-exec-1;com.acme.shop.Cart.sum;com.other.lib.Parser.next"}, nil, "com.acme.shop.Cart.sum"},
		{"thread names", profile.KindJava, []string{"main;com.acme.shop.Cart.sum;com.other.lib.Parser.next",
			"ForkJoinPool.commonPool-worker-1;com.acme.shop.Cart.sum"}, nil, "com.acme.shop.Cart.sum com.acme.shop.Cart.sum"},
		{"root of native code", profile.KindNative, []string{"all;nginx;main;parse"}, nil, "nginx main parse"},
		{"process of native code", profile.KindNative, []string{"nginx;main;parse", "nginx;main"}, nil, "main parse main"},
		{"short packages", profile.KindJava, []string{"bench.Main.loop;app.Shop.export;util.fast.Map.get;java.lang.String.valueOf"}, nil, "bench.Main.loop app.Shop.export"},
		{"harness in a short package", profile.KindJava, []string{"bench.Main.loop;com.acme.shop.Orders.export;net.other.Csv.print"}, nil, "bench.Main.loop com.acme.shop.Orders.export"},
		{"library called by short packages", profile.KindJava, []string{"app.Shop.export;net.other.Csv.print"}, nil, "app.Shop.export"},
		{"prefixes win", profile.KindJava, []string{"com.acme.Main.main;org.apache.lucene.Search.run;org.apache.luceneX.Run.run"}, []string{"org.apache.lucene"}, "org.apache.lucene.Search.run"},
		{"prefixes and main", profile.KindGo, []string{"runtime.main;main.main;acme.org/shop.Run;acme.org/x.Do"}, []string{"acme.org/shop"},
			"main.main acme.org/shop.Run"},
		{"prefixes as directories", profile.KindPython, []string{"run=/srv/app/main.py;get=/srv/app/lib/http.py"}, []string{"app/lib/"}, "get"},
		{"prefixes without a match", profile.KindNative, []string{"main"}, []string{"other"}, "main"},
	} {
		tb, samples := table(t, c.kind, c.stacks...)
		is := own.Functions(tb, samples, c.prefixes)
		var got []string
		for _, stack := range c.stacks {
			for frame := range strings.SplitSeq(stack, ";") {
				name, _, _ := strings.Cut(frame, "=")
				for i := range tb.Functions {
					if tb.Functions[i].Name == name && is[i] {
						got = append(got, name)
					}
				}
			}
		}
		if text := strings.Join(got, " "); text != strings.TrimSuffix(c.want, "=file") {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}

// TestRuntime: native code below the JVM is the runtime's, elsewhere it may be anybody's.
func TestRuntime(t *testing.T) {
	of := func(fns ...profile.Function) (names []string) {
		t.Helper()
		f := &calltree.Forest{}
		at := calltree.NoNode
		for _, fn := range fns {
			at = f.Path(at, f.Function(fn))
		}
		table := f.Cut([]int32{at}).Table
		samples := make([]float64, table.Len())
		samples[table.Len()-1] = 1
		isOwn := own.Functions(table, samples, nil)
		for i, is := range own.Runtime(table) {
			if is {
				names = append(names, table.Functions[i].Name)
			}
			if is && isOwn[i] {
				t.Errorf("%s is of the runtime and the user's", table.Functions[i].Name)
			}
		}
		slices.Sort(names)
		return names
	}
	jit := profile.Function{Name: "Compile::Compile", Kind: profile.KindCPP}
	if got := of(profile.Function{Name: "com.acme.Shop.main", Kind: profile.KindJava}, jit,
		profile.Function{Name: "do_futex", Kind: profile.KindKernel}); !slices.Equal(got, []string{"Compile::Compile", "do_futex"}) {
		t.Errorf("a program of the JVM: %q", got)
	}
	if got := of(profile.Function{Name: "main", Kind: profile.KindCPP}, jit); len(got) > 0 {
		t.Errorf("a program in C++: %q", got)
	}
	// In text a function of a Go program may look like a method of Java.
	text := []profile.Function{{Name: "runtime.main"}, {Name: "main.main"}, {Name: "a.b.C", Kind: profile.KindJava},
		{Name: "example.com/x.Sum"}}
	if got := of(text...); !slices.Equal(got, []string{"runtime.main"}) {
		t.Errorf("a program in Go: %q", got)
	}
}
