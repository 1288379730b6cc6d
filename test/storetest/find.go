package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// testFind looks for functions and call paths: profiles without them are in the answer, with
// their sums, so that a share of all of them follows.
func testFind(l *lab) {
	im := NewImporter()
	for i, drawing := range []string{"×5  ×95\nmain  main\nparse", "×5  ×95\nmain  main\nparse", "×5  ×95\nmain  main\nparse",
		"×40  ×60\nmain  main\nparse"} {
		l.put(im.File("g", "even", fmt.Sprint("r", i+1), profile.CPUSamples, drawing))
	}
	for i, drawing := range []string{"×100\nmain", "×100\nmain", "×300\nmain", "×10  ×10  ×80\nmain  parse  main\nparse  send\nparse"} {
		l.put(im.File("g", "odd", fmt.Sprint("r", i+1), profile.CPUSamples, drawing))
	}
	l.put(im.File("h", "none", "r1", profile.CPUSamples, "×9\nmain"))
	l.put(im.File("g", "even", "r1", profile.Alloc, "×64\nparse"))
	samples := store.Query{Types: []string{profile.CPUSamples}}
	last := samples
	last.Last = 2
	for _, test := range []struct {
		q       store.Query
		pattern string
		want    string // benchmark: profiles with it of all, total of sum
	}{
		{samples, "parse", "g/even: 4 of 4, 55 of 400; g/odd: 1 of 4, 20 of 600; h/none: 0 of 1, 0 of 9"},
		{samples, "parse;send", "g/even: 0 of 4, 0 of 400; g/odd: 1 of 4, 10 of 600; h/none: 0 of 1, 0 of 9"},
		{samples, "*arse|send", "g/even: 4 of 4, 55 of 400; g/odd: 1 of 4, 20 of 600; h/none: 0 of 1, 0 of 9"},
		{last, "parse", "g/even: 2 of 2, 45 of 200; g/odd: 1 of 2, 20 of 400; h/none: 0 of 1, 0 of 9"},
		{store.Query{Types: []string{profile.Alloc}}, "parse", "g/even: 1 of 1, 64 of 64"},
	} {
		p, err := callpath.Parse(test.pattern)
		l.ok(err)
		found, err := store.Find(l.t.Context(), l.s, test.q, p, false)
		if err != nil {
			l.t.Fatalf("%s: %v", test.pattern, err)
		}
		type sums struct{ with, profiles, total, sum int64 }
		of := map[string]*sums{}
		var names []string
		at := func(p *store.Profile) *sums {
			name := p.Benchmark.String()
			if of[name] == nil {
				of[name] = new(sums)
				names = append(names, name)
			}
			return of[name]
		}
		for i := range found.Profiles {
			s := at(&found.Profiles[i])
			s.profiles++
			s.sum += found.Profiles[i].Sum
		}
		for _, row := range found.Rows {
			s := at(&found.Profiles[row.Profile])
			s.with++
			s.total += row.Total
		}
		slices.Sort(names)
		var got []string
		for _, name := range names {
			s := of[name]
			got = append(got, fmt.Sprintf("%s: %d of %d, %d of %d", name, s.with, s.profiles, s.total, s.sum))
		}
		if got := strings.Join(got, "; "); got != test.want {
			l.t.Errorf("%s: %s\nwant %s", test.pattern, got, test.want)
		}
	}
}
