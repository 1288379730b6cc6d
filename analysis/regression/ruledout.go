package regression

import (
	"fmt"
	"math"
	"strings"

	"github.com/dendroprof/dendro/analysis/regression/internal/row"
	"github.com/dendroprof/dendro/analysis/regression/internal/size"
)

// ruleOut lists the other explanations of a cost that were tested and rejected, with the
// numbers. F is nil for a change that only the metric shows, of which moved work is not
// ruled out.
func (r *reporter) ruleOut(f *Finding) []RuledOut {
	list := []RuledOut{}
	if f != nil {
		list = append(list, r.ruleOutMoved(f.Delta.Samples))
	}
	if g, spread, ok := r.speed(); ok && math.Abs(math.Log(g)) < math.Min(spread, math.Log(size.SpeedLimit)) {
		list = append(list, RuledOut{"machine", fmt.Sprintf("code that did not change takes %.2f times as long as before; runs of the history differ by %.0f%%", g, 100*spread)})
	}
	if before, now, _ := r.environmentShare(); len(r.environment()) == 0 && before+now > 0 && r.environmentPart() < halfOf {
		list = append(list, RuledOut{"environment", fmt.Sprintf("collector, compiler and kernel: %.1f%% of all samples before, %.1f%% now", 100*before, 100*now)})
	}
	if r.blocks > 0 && r.noisy < blocksLeast {
		list = append(list, RuledOut{"noise of the benchmark",
			fmt.Sprintf("%d of %d comparisons within the history have findings", r.noisy, r.blocks)})
	}
	return list
}

// ruleOutMoved compares a rise with the largest fall that no moved work explains.
func (r *reporter) ruleOutMoved(rise float64) RuledOut {
	largest, fall := row.None, 0.0
	for slot := range r.space.FunctionSelfs() {
		if !r.isTested[slot] {
			continue
		}
		if left := r.given.left(slot); left > fall {
			largest, fall = slot, left
		}
	}
	text := fmt.Sprintf("no function fell beside the rise of %.1f samples per run", rise)
	if largest != row.None {
		name := r.space.Table.Functions[r.space.Item[largest]].Name
		text = fmt.Sprintf("the largest fall that is not explained, of %s, is %.1f samples per run; the rise is %.1f", name, fall, rise)
	}
	return RuledOut{"moved work", text}
}

// speed returns the factor by which code that did not change takes longer, and the relative
// deviation of the runs; false if it is unknown or a finding of its own.
func (r *reporter) speed() (g, spread float64, ok bool) {
	if r.rate.Known {
		return r.machine(), r.rate.Spread, true
	}
	g, z, ok := r.commonFactor()
	if !ok || z >= r.fit.threshold || z == 0 {
		return g, 0, false
	}
	return g, math.Abs(math.Log(g) / z), true
}

// disagreement says that the shares of functions that seem unchanged contradict the samples
// per operation; empty if they agree within the spread of the runs.
func (r *reporter) disagreement() string {
	if !r.rate.Exact {
		return ""
	}
	g, more := r.machine(), "more"
	if math.Abs(math.Log(g)) < r.rate.Spread {
		return ""
	}
	if g < 1 {
		more = "fewer"
	}
	return fmt.Sprintf("code that seems unchanged takes %.0f%% %s samples per operation than in the history, whose runs differ by %.0f%%: the size is not corrected for it", 100*math.Abs(g-1), more, 100*r.rate.Spread)
}

// environmentPart returns the part of the program's change of samples per operation that
// collector, compiler and kernel have; 0 if it is unknown.
func (r *reporter) environmentPart() float64 {
	if !r.rate.Known || r.rate.Now <= r.rate.Before {
		return 0
	}
	before, now, _ := r.environmentShare()
	return (now*r.rate.Now - before*r.rate.Before) / (r.rate.Rise())
}

// doubts says what a reader of a cost should know of its size: that most of it has no caller,
// that the shares of functions contradict it, or that its interval includes 0.
func (r *reporter) doubts(f *Finding) string {
	var list []string
	if r.environmentPart() >= halfOf {
		before, now, _ := r.environmentShare()
		list = append(list, fmt.Sprintf("most of the rise is work of collector, compiler and kernel (%.1f%% of all samples before, %.1f%% now), which belongs to no function", 100*before, 100*now))
	}
	if text := r.disagreement(); text != "" {
		list = append(list, text)
	}
	if t := f.Delta.Time; t != nil && r.rate.Known && f.Kind == Regression && t.Low <= 0 {
		list = append(list, fmt.Sprintf("the interval includes 0, because runs of the history differ by %.0f%%: that it costs more is known from the shares of functions (score %.1f)", 100*r.rate.Spread, f.Score))
	}
	return strings.Join(list, "; ")
}
