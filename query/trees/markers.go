package trees

import (
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
)

// MarkersResult is the markers of a profile, in order of their start.
type MarkersResult struct {
	Head
	Rows []MarkerRow `json:"rows"`
}

// MarkerRow is a marker: a named interval of a thread, or an instant if it ends where it
// starts. Times are milliseconds since the start of the profile.
type MarkerRow struct {
	Start    float64       `json:"start"`
	End      float64       `json:"end"`
	Name     string        `json:"name"`
	Category string        `json:"category"`
	Thread   string        `json:"thread"` // empty: of no thread
	Fields   []MarkerField `json:"fields"`
}

// MarkerField is a field of a marker: a text, or a number with its unit.
type MarkerField struct {
	Key    string `json:"key"`
	Text   string `json:"text,omitempty"`
	Number int64  `json:"number,omitempty"`
	Unit   string `json:"unit,omitempty"`
}

// markers lists the markers of the view.
func (s *scope) markers() (*MarkersResult, error) {
	if s.shown == nil {
		return nil, param.Errorf("markers are those of one profile: give one file, or select one profile imported with --keep-source")
	}
	all := s.samples.Markers(s.shown.View)
	list := words.First(all, s.r.Rows)
	out := &MarkersResult{Head: s.head(s.tree.RootTotal(), query.Omitted{Rows: len(all) - len(list)}), Rows: make([]MarkerRow, len(list))}
	for i := range list {
		m := &list[i]
		out.Rows[i] = MarkerRow{Start: float64(m.Start) / 1e6, End: float64(m.End) / 1e6, Name: m.Name,
			Category: s.samples.Category(m.Category).Name, Thread: s.samples.Thread(m.Thread).Name, Fields: markerFields(m)}
	}
	return out, nil
}

func markerFields(m *profile.Marker) []MarkerField {
	return column.Of(m.Fields, func(f profile.Label) MarkerField { return MarkerField{f.Key, f.Text, f.Num, f.Unit} })
}
