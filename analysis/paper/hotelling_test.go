package paper

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/store"
)

// shifted has runs of a program in which parse and render, below handler, vary together; in
// the last runs a part of render's samples moves to parse.
func shifted(runs, last int, moved int64) *bench {
	rnd := rand.New(rand.NewPCG(7, 8))
	b := &bench{}
	for i := range runs {
		load := int64(400 + rnd.IntN(200))
		run := map[string]int64{"main": 2000 + int64(rnd.IntN(40)), "main;handler": 5, "main;handler;parse": load + int64(rnd.IntN(8)),
			"main;handler;render": load + int64(rnd.IntN(8)),
			"main;log":            100 + int64(rnd.IntN(20)), "main;log;parse": 3}
		if i >= runs-last {
			run["main;handler;parse"] += moved
			run["main;handler;render"] -= moved
		}
		b.runs = append(b.runs, run)
	}
	return b
}

// TestHotelling: a change against the correlation of two functions, which neither of them
// shows alone.
func TestHotelling(t *testing.T) {
	test := func(b *bench, k, most int, subtrees ...string) *HotellingResult {
		t.Helper()
		res, err := Hotelling(t.Context(), put(t, b), store.Query{}, HotellingRequest{history.Tests{K: k}, subtrees, most})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := test(shifted(20, 2, 40), 2, 2, "handler")
	if len(res.Rows) != 1 {
		t.Fatalf("%+v", res)
	}
	r := res.Rows[0]
	if r.P > 1e-6 || r.Freedom != [2]int{2, 17} || r.Base != 18 || r.Head != 2 || r.Score < 4 || math.Abs(r.F-r.T2*17/36) > 1e-9 {
		t.Errorf("%+v", r)
	}
	alone, err := Scores(t.Context(), put(t, shifted(20, 2, 40)), store.Query{}, ScoreRequest{Measure: Self})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range alone.Rows {
		if (x.Function == "parse" || x.Function == "render") && math.Abs(x.Score) > 2 {
			t.Errorf("alone, %s has score %.1f", x.Function, x.Score)
		}
	}
	if r := test(shifted(20, 2, 0), 2, 2, "handler").Rows[0]; r.P < 0.05 {
		t.Errorf("without a change: %+v", r)
	}
	// Of the whole program parse is one variable, in handler it is without log's.
	whole := test(shifted(20, 2, 40), 2, 5).Rows[0]
	names := fmt.Sprint(whole.Functions)
	if whole.Subtree != "" || !strings.Contains(names, "{log ") || !strings.Contains(names, "{main ") || whole.P > 1e-6 {
		t.Errorf("%+v", whole)
	}
	// A third of the runs bounds the functions.
	few := test(shifted(7, 1, 40), 1, 5, "handler", "nowhere")
	if len(few.Rows) != 1 || few.Rows[0].Freedom != [2]int{2, 4} ||
		!strings.Contains(strings.Join(few.Warnings, "\n"), "7 runs are enough for 2 functions, not for 5") ||
		!strings.Contains(strings.Join(few.Warnings, "\n"), "nowhere has no functions whose shares vary") {
		t.Errorf("%+v", few)
	}
	if none := test(shifted(2, 1, 0), 1, 5); len(none.Rows) != 0 || len(none.Warnings) != 1 {
		t.Errorf("%+v", none)
	}
}
