package listing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/listing"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// TestAddSource: the text of lines with samples, and of three lines before and after them.
func TestAddSource(t *testing.T) {
	text := make([]string, 12)
	for i := range text {
		text[i] = fmt.Sprintf("text %d", i+1)
	}
	one := document.Whole(1, 0)
	for _, test := range []struct {
		name  string
		lines []int32
		want  string
	}{
		{"a gap", []int32{5, 7}, "2 3 4 5* 6 7* 8 9 10"},
		{"the first line", []int32{1}, "1* 2 3 4"},
		{"the last line", []int32{12}, "9 10 11 12*"},
		{"unknown, and one that is known", []int32{0, 6}, "0* 3 4 5 6* 7 8 9"},
		{"unknown", []int32{0}, "0*"},
		{"a line that the text has not", []int32{5, 13}, "5* 13*"},
	} {
		r := listing.Result{Rows: []listing.Function{{Function: "f", File: "f.go", Module: "m"}}}
		for _, line := range test.lines {
			r.Rows[0].Lines = append(r.Rows[0].Lines, listing.Line{Line: line, Total: one, Self: one})
		}
		r.AddSource(func(f *profile.Function) ([]string, string) {
			if f.Name != "f" || f.File != "f.go" || f.Module != "m" {
				t.Errorf("%s: asked for %+v", test.name, f)
			}
			return text, "page"
		})
		var got []string
		for _, l := range r.Rows[0].Lines {
			mark := map[bool]string{true: "*"}[l.Total == one]
			got = append(got, fmt.Sprint(l.Line)+mark)
			if l.Source != "" && l.Source != text[l.Line-1] {
				t.Errorf("%s: line %d is %q", test.name, l.Line, l.Source)
			}
		}
		if text := strings.Join(got, " "); text != test.want || r.Rows[0].Link != "page" {
			t.Errorf("%s: %s, %q\nwant %s", test.name, text, r.Rows[0].Link, test.want)
		}
	}
}

// TestOfCall: the line with most samples from which a function calls another one, or its own.
func TestOfCall(t *testing.T) {
	var dump strings.Builder
	dump.WriteString("2026-11-26 00:41:43\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15 mixed mode):\n\n")
	for i, lines := range [][2]int{{10, 20}, {10, 22}, {11, 22}} {
		fmt.Fprintf(&dump, "\"t%d\" #%d prio=5 os_prio=0 tid=0x%d nid=0x%d runnable  [0x0001]\n   java.lang.Thread.State: RUNNABLE\n"+
			"\tat shop.price(Shop.java:%d)\n\tat shop.total(Shop.java:%d)\n\n", i, i+1, i+1, i+1, lines[0], lines[1])
	}
	for _, keep := range []bool{true, false} {
		st := mem.New()
		src := ingest.MemorySource("a.tdump", []byte(dump.String()))
		src.Label = ingest.Label{Benchmark: "shop", Run: testrun.Run{Key: "1"}}
		if _, err := ingest.Run(t.Context(), st, []ingest.Source{src}, ingest.Options{KeepSource: keep}, func(ingest.Result) {}); err != nil {
			t.Fatal(err)
		}
		list, err := query.ProfilesOf(t.Context(), st, store.Query{})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		for _, test := range []struct {
			function, calls string
			want            int
		}{{"shop.total", "shop.price", 22}, {"shop.price", "", 10}, {"shop.price", "shop.total", 0}} {
			if !keep {
				test.want = 0
			}
			if line, err := listing.OfCall(t.Context(), st, &list[0], test.function, test.calls); err != nil || line != test.want {
				t.Errorf("kept %t: %s calls %s in line %d, not %d: %v", keep, test.function, test.calls, line, test.want, err)
			}
		}
	}
}
