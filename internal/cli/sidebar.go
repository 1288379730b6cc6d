package cli

import (
	"bufio"
	"fmt"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
)

// sidebarAnswer is the JSON of --select: what is known of one call node.
type sidebarAnswer struct {
	Path        []string       `json:"path"`
	Unit        string         `json:"unit"`
	RootTotal   any            `json:"root_total"`
	SampleTotal any            `json:"sample_total"`
	Total       sidebarAmount  `json:"total"`
	Self        sidebarAmount  `json:"self"`
	Traced      *tracedAmounts `json:"traced"`
}

// sidebarAmount is a value, its share of sample_total, and what it is made of.
type sidebarAmount struct {
	Value      any               `json:"value"`
	Share      float64           `json:"share"`
	Categories []sidebarCategory `json:"categories"`
}

type sidebarCategory struct {
	Name  string            `json:"name"`
	Value any               `json:"value"`
	Share float64           `json:"share"`
	Sub   []sidebarCategory `json:"sub,omitempty"`
}

// tracedAmounts are times in milliseconds.
type tracedAmounts struct {
	Total any `json:"total"`
	Self  any `json:"self"`
	Root  any `json:"root"`
}

// printSelected prints the sidebar of the node that --select names.
func (o *showOptions) printSelected(e *env, s *scene) error {
	path, err := calltree.ParsePath(o.selected)
	if err != nil {
		return usageError{err}
	}
	if s.shown == nil || s.shown.Tree != s.Tree {
		// A sum has no samples of its own; its nodes stand for them.
		v := calltree.NewViewer(s.Tree.Profile())
		if s.shown, err = v.Show(calltree.View{}); err != nil {
			return err
		}
		s.Tree = s.shown.Tree
	}
	var bar calltree.Sidebar
	if o.inverted() {
		v := o.turned(e, s.Tree)
		n, ok := v.FindPath(path)
		if !ok {
			return fmt.Errorf("no call node has the path %s (inverted: from the leaf)", words.Clean(o.selected))
		}
		bar = s.shown.InvertedSidebar(v, n)
	} else {
		n, ok := s.FindPath(path)
		if !ok {
			return fmt.Errorf("no call node has the path %s", words.Clean(o.selected))
		}
		bar = s.shown.Sidebar(n)
	}
	a := sidebarOf(bar, s.Tree)
	a.Path = path
	if o.output.format == "json" {
		return e.writeJSON(a)
	}
	return a.text(e, bar, s.Tree)
}

func sidebarOf(bar calltree.Sidebar, t *calltree.Tree) sidebarAnswer {
	number := func(v int64) any { return scaled(v, t.Type.Scale) }
	amountOf := func(a calltree.Amount) sidebarAmount {
		return sidebarAmount{Value: number(a.Value), Share: share(a.Value, bar.SampleTotal), Categories: sidebarCategories(a.Categories, number)}
	}
	a := sidebarAnswer{Unit: t.Type.Unit, RootTotal: number(bar.RootTotal), SampleTotal: number(bar.SampleTotal),
		Total: amountOf(bar.Total), Self: amountOf(bar.Self)}
	if tr := bar.Traced; tr != nil {
		a.Traced = &tracedAmounts{Total: scaled(tr.Total, 6), Self: scaled(tr.Self, 6), Root: scaled(tr.Root, 6)}
	}
	return a
}

func sidebarCategories(list []calltree.CategoryAmount, number func(int64) any) []sidebarCategory {
	out := make([]sidebarCategory, len(list))
	for i, c := range list {
		out[i] = sidebarCategory{Name: c.Name, Value: number(c.Value), Share: c.Share}
		if len(c.Sub) > 0 {
			out[i].Sub = sidebarCategories(c.Sub, number)
		}
	}
	return out
}

// text prints the sidebar for people; md, tsv and csv are tables of the same.
func (a *sidebarAnswer) text(e *env, bar calltree.Sidebar, t *calltree.Tree) error {
	w := bufio.NewWriter(e.out)
	fmt.Fprintln(w, words.Clean(a.Path[len(a.Path)-1]))
	for _, part := range []struct {
		name string
		of   calltree.Amount
	}{{"total", bar.Total}, {"self", bar.Self}} {
		fmt.Fprintf(w, "%-8s %14s  %8s\n", part.name, amount(part.of.Value, t.Type.Unit, t.Type.Scale), percent(share(part.of.Value, bar.SampleTotal)))
		for _, c := range part.of.Categories {
			fmt.Fprintf(w, "  %-20s %8s\n", words.Clean(c.Name), percent(c.Share))
			for _, sub := range c.Sub {
				fmt.Fprintf(w, "    %-18s %8s\n", words.Clean(sub.Name), percent(sub.Share))
			}
		}
	}
	if tr := bar.Traced; tr != nil {
		fmt.Fprintf(w, "traced   total %s, self %s, of %s\n", amount(tr.Total, "nanoseconds", 0), amount(tr.Self, "nanoseconds", 0), amount(tr.Root, "nanoseconds", 0))
	}
	return w.Flush()
}
