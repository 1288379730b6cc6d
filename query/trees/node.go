package trees

import (
	"fmt"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/document"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// NodeResult is what is known of one call node.
type NodeResult struct {
	Path        []string        `json:"path"`
	Unit        string          `json:"unit"`
	RootTotal   document.Number `json:"rootTotal"`
	SampleTotal document.Number `json:"sampleTotal"` // of all samples with a stack, absolute
	Total       NodeAmount      `json:"total"`
	Self        NodeAmount      `json:"self"`
	Traced      *TracedAmounts  `json:"traced"` // nil without times
	Notes       []string        `json:"notes"`
}

// NodeAmount is a value, its share of SampleTotal, and the categories in it.
type NodeAmount struct {
	Value      document.Number `json:"value"`
	Share      float64         `json:"share"`
	Categories []NodeCategory  `json:"categories"`
}

// NodeCategory is a category, with its share of the amount.
type NodeCategory struct {
	Name  string          `json:"name"`
	Value document.Number `json:"value"`
	Share float64         `json:"share"`
	Sub   []NodeCategory  `json:"sub,omitempty"`
}

// TracedAmounts are times in milliseconds.
type TracedAmounts struct {
	Total document.Number `json:"total"`
	Self  document.Number `json:"self"`
	Root  document.Number `json:"root"`
}

// node describes the call node that --select names.
func (s *scope) node() (*NodeResult, error) {
	path, err := calltree.ParsePath(s.Select)
	if err != nil {
		return nil, param.Errorf("--select: %w", err)
	}
	if s.shown == nil || s.shown.Tree != s.tree {
		// A sum has no samples of its own; its nodes stand for them.
		v := calltree.NewViewer(s.tree.Profile())
		if s.shown, err = v.Show(calltree.View{}); err != nil {
			return nil, err
		}
		s.tree = s.shown.Tree
	}
	var bar calltree.Sidebar
	if s.inverted() {
		v := s.invert(s.tree)
		n, ok := v.FindPath(path)
		if !ok {
			return nil, fmt.Errorf("no call node has the path %s (inverted: from the leaf): %w", s.Select, store.ErrNothing)
		}
		bar = s.shown.InvertedSidebar(v, n)
	} else {
		n, ok := s.tree.FindPath(path)
		if !ok {
			return nil, fmt.Errorf("no call node has the path %s: %w", s.Select, store.ErrNothing)
		}
		bar = s.shown.Sidebar(n)
	}
	scale := s.tree.Type.Scale
	amount := func(a calltree.Amount) NodeAmount {
		return NodeAmount{document.Whole(a.Value, scale), query.ShareOf(a.Value, bar.SampleTotal), categories(a.Categories, scale)}
	}
	r := &NodeResult{Path: path, Unit: s.tree.Type.Unit, RootTotal: document.Whole(bar.RootTotal, scale),
		SampleTotal: document.Whole(bar.SampleTotal, scale),
		Total:       amount(bar.Total), Self: amount(bar.Self), Notes: s.notes}
	if t := bar.Traced; t != nil {
		r.Traced = &TracedAmounts{document.Whole(t.Total, 6), document.Whole(t.Self, 6), document.Whole(t.Root, 6)}
	}
	return r, nil
}

func categories(list []calltree.CategoryAmount, scale int) []NodeCategory {
	out := make([]NodeCategory, len(list))
	for i, c := range list {
		out[i] = NodeCategory{Name: c.Name, Value: document.Whole(c.Value, scale), Share: c.Share}
		if len(c.Sub) > 0 {
			out[i].Sub = categories(c.Sub, scale)
		}
	}
	return out
}
