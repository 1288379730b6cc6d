package jsonscan

import (
	"math"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// TestClock reads times in microseconds: 0 is no time, what fits counts from 0, and a first
// time that does not fit 63 bits of nanoseconds is where the clock begins.
func TestClock(t *testing.T) {
	const far = "63907825250726409"
	for _, tt := range []struct {
		text string
		want []int64
		far  bool
	}{
		{"[0,1,2.5,-1]", []int64{0, 1000, 2500, -1000}, false},
		{"[0," + far + "," + far + ".25,63907825250726410,0]", []int64{0, 0, 250, 1000, 0}, true},
		{"[-" + far + ",-63907825250726408]", []int64{0, 1000}, true},
		{"[6.3907825250726409e16,\"63907825250726410\"]", []int64{0, 1000}, true},
		{"[1," + far + "]", nil, false}, // one clock cannot have both
		{"[" + far + ",1]", nil, true},  //
		{"[9e18,-9e18]", nil, true},     // nor a span that does not fit
		{"[9223372036854775.807]", []int64{math.MaxInt64}, false},
		{"[1e300]", nil, false},
	} {
		for name, read := range map[string]func(*Scanner, *Clock) []int64{
			"Times": func(s *Scanner, c *Clock) []int64 { return Times(s, nil, 3, c) },
			"Read": func(s *Scanner, c *Clock) (got []int64) {
				for range s.Array() {
					got = append(got, c.Read(s, 3))
				}
				return got
			},
		} {
			for _, text := range []string{tt.text, strings.ReplaceAll(tt.text, ",", ","+strings.Repeat(" ", 100))} {
				s, c := New(strings.NewReader(text), profile.Limits{}), Clock{}
				got := read(s, &c)
				err := s.End()
				if (err != nil) != (tt.want == nil) || c.Far() != tt.far {
					t.Errorf("%s %.60s: %v, far %v", name, text, err, c.Far())
				}
				for i := range tt.want {
					if i >= len(got) || got[i] != tt.want[i] {
						t.Errorf("%s %.60s: %v, want %v", name, text, got, tt.want)
						break
					}
				}
			}
		}
	}
}

func TestDate(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "null": 0, "-5": 0, "1e300": 0, "1700000000.5": 1_700_000_000_500_000_000,
		"63907825250": 0} {
		got := New(strings.NewReader(text), profile.Limits{}).Date(9)
		if want == 0 && !got.IsZero() || want != 0 && got.UnixNano() != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
