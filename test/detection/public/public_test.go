package public

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPublic measures all pairs and requires the figures of the method.
func TestPublic(t *testing.T) {
	pairs, err := Load(t.Context(), os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	r, err := Run(t.Context(), &text, pairs)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks() {
		if !c.OK {
			t.Errorf("%s: %.3f, required %s", c.Name, c.Value, c.Required)
		}
	}
	t.Logf("%d pairs\n%s\n%s", r.All.Pairs, &text, r)
}

// TestTruth requires that the truth of a pair is what its measured values say.
func TestTruth(t *testing.T) {
	fsys := os.DirFS("testdata")
	pairs, err := Load(t.Context(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	measured := 0
	for _, p := range pairs {
		data, err := fs.ReadFile(fsys, p.Name+"/cpu.json")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var cpu struct{ Base, Head []float64 }
		if err := cmp.Or(err, json.Unmarshal(data, &cpu)); err != nil {
			t.Fatal(p.Name, err)
		}
		measured++
		var ratios []float64
		for i, b := range cpu.Base {
			ratios = append(ratios, math.Round(100*(cpu.Head[i]/b-1)))
		}
		slices.Sort(ratios)
		median := func(v []float64) float64 {
			v = slices.Sorted(slices.Values(v))
			return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
		}
		got := [3]float64{ratios[1], math.Round(100 * (median(cpu.Head)/median(cpu.Base) - 1)), ratios[len(ratios)-2]}
		for i := range got {
			if math.Abs(got[i]-p.Truth.Truth[i]) > 1 {
				t.Errorf("%s: truth.json has %v, cpu.json %v", p.Name, p.Truth.Truth, got)
				break
			}
		}
	}
	if measured < 7 {
		t.Errorf("%d pairs have cpu.json", measured)
	}
}
