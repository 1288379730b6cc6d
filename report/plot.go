package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/internal/words"
)

// plot draws values over runs as text:
//
//	8.61 ms │               ◆◆
//	        │
//	        │     ░░░ ░░░░░░░░
//	        │●─●──●──●──●●─●──
//	6.60 ms │ ● ●● ●● ●●  ● ●
//	         run-001 … run-018
//
// ● is a history run, ◆ a tested run, ─ the moving mean of the runs before, ░ two
// standard deviations, or as many as Evidence.BandWidth, around it.
type plot struct {
	values []float64
	band   []evidence.Level
	width  float64              // of the band, in standard deviations
	tested int                  // at the end
	label  func(float64) string // of the axis
	left   func(float64) bool   // missing values; nil: none
	first  string               // names of the outermost runs
	last   string
}

const (
	plotHeight = 6
	plotWidth  = 60 // maximum number of runs; older ones are omitted

	scatterWidth = 40
)

// lines draws the plot; nil if there are no values.
func (p *plot) lines() []string {
	if over := len(p.values) - plotWidth; over > 0 {
		p.values, p.band = p.values[over:], p.band[over:]
	}
	low, high, ok := p.limits()
	if !ok {
		return nil
	}
	row := func(v float64) int { // 0 is the top
		if high == low {
			return plotHeight / 2
		}
		return int(math.Round((high - v) / (high - low) * (plotHeight - 1)))
	}
	grid := make([][]rune, plotHeight)
	for y := range grid {
		grid[y] = []rune(strings.Repeat(" ", len(p.values)))
	}
	for x := range p.values {
		if l := p.band[x]; l.Mean != 0 || l.Deviation != 0 {
			for y := max(0, row(l.Mean+p.width*l.Deviation)); y <= min(plotHeight-1, row(l.Mean-p.width*l.Deviation)) && l.Deviation > 0; y++ {
				grid[y][x] = '░'
			}
			grid[row(l.Mean)][x] = '─'
		}
		switch {
		case p.absent(x):
		case x >= len(p.values)-p.tested:
			grid[row(p.values[x])][x] = '◆'
		default:
			grid[row(p.values[x])][x] = '●'
		}
	}
	return p.frame(grid, low, high)
}

func (p *plot) absent(x int) bool { return p.left != nil && p.left(p.values[x]) }

// limits returns the range of the values and means, and of the band as far as it is
// within the values' range of them.
func (p *plot) limits() (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for x, v := range p.values {
		if p.absent(x) {
			continue
		}
		for _, v := range []float64{v, p.band[x].Mean} {
			low, high, ok = math.Min(low, v), math.Max(high, v), true
		}
	}
	return low, high, ok && !math.IsInf(high-low, 0) && !math.IsNaN(high-low)
}

// frame adds an axis beside the grid and the runs below.
func (p *plot) frame(grid [][]rune, low, high float64) []string {
	labels := make([]string, plotHeight)
	if low == high {
		labels[plotHeight/2] = p.label(low)
	} else {
		labels[0], labels[plotHeight-1] = p.label(high), p.label(low)
	}
	width := 0
	for _, text := range labels {
		width = max(width, utf8.RuneCountInString(text))
	}
	lines := make([]string, 0, plotHeight+1)
	for y, cells := range grid {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(labels[y]))
		lines = append(lines, pad+labels[y]+" │"+strings.TrimRight(string(cells), " "))
	}
	return append(lines, strings.Repeat(" ", width+2)+p.first+" … "+p.last)
}

// Scatter draws points, x to the right and y upwards, as text. X is named at both ends of
// its axis.
func Scatter(x, y []float64, label func(float64) string, left, right string) []string {
	if len(x) == 0 {
		return nil
	}
	at := func(list []float64, i, cells int) int {
		low, high := slices.Min(list), slices.Max(list)
		if !(high > low) {
			return cells / 2
		}
		return int(math.Round((list[i] - low) / (high - low) * float64(cells-1)))
	}
	grid := make([][]rune, plotHeight)
	for row := range grid {
		grid[row] = []rune(strings.Repeat(" ", scatterWidth))
	}
	for i := range x {
		grid[plotHeight-1-at(y, i, plotHeight)][at(x, i, scatterWidth)] = '●'
	}
	p := plot{label: label, first: left, last: right}
	return p.frame(grid, slices.Min(y), slices.Max(y))
}

// metricPlot draws the benchmark's metric.
func (b *Benchmark) metricPlot() []string {
	m := b.Evidence.Metric
	if m == nil {
		return nil
	}
	return b.plot(m.Values, m.Band, func(v float64) string { return words.Metric(v, m.Unit) }, func(v float64) bool { return v == 0 })
}

// candidatePlot draws the levels of a candidate.
func (b *Benchmark) candidatePlot(c *evidence.Candidate) []string {
	level, _ := b.levels(c)
	return b.plot(c.Levels, c.Band, level, nil)
}

// levels returns the formats of a candidate's levels and of their differences.
func (b *Benchmark) levels(c *evidence.Candidate) (level, difference func(float64) string) {
	if c.Absolute {
		return func(v float64) string { return words.Value(v, b.Type.Unit, b.Type.Scale) },
			func(v float64) string { return words.Difference(v, b.Type.Unit, b.Type.Scale) }
	}
	return words.Percent, words.SignedPercent
}

func (b *Benchmark) plot(values []float64, band []evidence.Level, label func(float64) string, left func(float64) bool) []string {
	runs := b.Evidence.Runs
	if len(runs) < 2 || len(values) != len(runs) || len(band) != len(runs) {
		return nil
	}
	p := plot{values: values, band: band, width: cmp.Or(b.Evidence.BandWidth, 2), tested: b.tested(), label: label, left: left,
		first: words.Clean(runs[max(0, len(runs)-plotWidth)].Key), last: words.Clean(runs[len(runs)-1].Key)}
	return p.lines()
}

// levels are the heights of a sparkline.
var levels = []rune("▁▂▃▄▅▆▇█")

// spark draws values in one line, with blanks for missing ones.
func spark(values []float64, absent func(float64) bool) string {
	values = values[max(0, len(values)-plotWidth):]
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !absent(v) {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	var b strings.Builder
	for _, v := range values {
		switch {
		case absent(v):
			b.WriteByte(' ')
		case !(high > low):
			b.WriteRune(levels[0])
		default:
			b.WriteRune(levels[int(math.Round((v-low)/(high-low)*float64(len(levels)-1)))])
		}
	}
	return b.String()
}
