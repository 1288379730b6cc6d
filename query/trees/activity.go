package trees

import (
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/contents"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/table"
)

// ActivityResult says when the threads of a profile had samples, those with most first.
type ActivityResult struct {
	Head
	// From and To are the times of the first and the last sample, in milliseconds since the
	// time from which ranges count.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Zero is the time from which ranges count, in milliseconds since the start of the
	// profile, as those of its markers.
	Zero    float64 `json:"zero,omitempty"`
	Markers int     `json:"markers"` // how many the view has
	// Labels are those of the profile, with the totals of all of its samples.
	Labels []contents.LabelValues `json:"labels,omitempty"`
	Rows   []ActivityRow          `json:"rows"`
}

// ActivityRow is a thread, with its samples in each of as many equal parts of the time.
type ActivityRow struct {
	ThreadRow
	Use []int `json:"use"`
}

// activityParts is the number of parts of the time.
const activityParts = 200

// activity counts the samples of the view by thread and time. Samples that the view drops,
// as those of waiting threads with --no-idle, do not count.
func (s *scope) activity() (*ActivityResult, error) {
	if s.shown == nil {
		return nil, param.Errorf("activity is that of one profile: give one file, or select one profile imported with --keep-source")
	}
	from, to, rows := int64(math.MaxInt64), int64(math.MinInt64), map[profile.ThreadID]*ActivityRow{}
	for x := range s.shown.Samples() {
		from, to = min(from, x.Time), max(to, x.Time)
	}
	out := &ActivityResult{Head: s.head(s.tree.RootTotal(), query.Omitted{}), Zero: s.zero(), Markers: len(s.samples.Markers(s.shown.View)),
		Rows: []ActivityRow{}}
	for _, l := range format.DescribeLabels(s.samples.Profile(), s.shown.View.Table) {
		out.Labels = append(out.Labels, contents.Labels(&l, s.shown.Type.Scale))
	}
	if from >= to {
		out.Notes = append(out.Notes, "samples do not say when they were taken, or all are of one moment")
		return out, nil
	}
	for x := range s.shown.Samples() {
		if x.Node == calltree.NoNode {
			continue
		}
		r := rows[x.Thread]
		if r == nil {
			t := s.samples.Thread(x.Thread)
			r = &ActivityRow{ThreadRow{t.Name, t.ID, t.Process, 0}, make([]int, activityParts)}
			rows[x.Thread] = r
		}
		r.Samples++
		r.Use[int(float64(x.Time-from)/float64(to-from+1)*activityParts)]++
	}
	out.From, out.To = float64(from)/1e6-out.Zero, float64(to)/1e6-out.Zero
	for _, r := range rows {
		out.Rows = append(out.Rows, *r)
	}
	slices.SortFunc(out.Rows, func(a, b ActivityRow) int {
		if a.Samples != b.Samples {
			return b.Samples - a.Samples
		}
		return strings.Compare(a.Name+"\x00"+a.ID, b.Name+"\x00"+b.ID)
	})
	return out, nil
}

// Table draws a bar for each of a few parts of the time, as high as the thread was busy.
func (r *ActivityResult) Table(bool) *table.Table {
	const parts, bars = 50, "▁▂▃▄▅▆▇█"
	t := &table.Table{Notes: r.Notes, Omitted: r.Omitted.Rows,
		Columns: []table.Column{table.CountColumn("samples"), table.TextColumn("activity"), table.TextColumn("thread"), table.TextColumn("id"),
			table.TextColumn("process")}}
	sums, most := make([][parts]int, len(r.Rows)), 1
	for i := range r.Rows {
		for k, n := range r.Rows[i].Use {
			sums[i][k*parts/activityParts] += n
		}
		most = max(most, slices.Max(sums[i][:]))
	}
	heights := []rune(bars)
	for i := range r.Rows {
		var line strings.Builder
		for _, n := range sums[i] {
			if n == 0 {
				line.WriteByte(' ')
			} else {
				line.WriteRune(heights[(n*len(heights)-1)/most])
			}
		}
		x := &r.Rows[i]
		t.Add(x.Samples, line.String(), x.Name, x.ID, x.Process)
	}
	return t
}
