package trees

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// label is one KEY=VALUE of a filter. KEY alone is any value.
type label struct {
	key, value string
	matches    func(value string) bool
}

func parseLabel(text string) label {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		value = "*"
	}
	return label{key, value, callpath.Glob(value)}
}

func parseLabels(list []string) []label {
	return column.Of(list, parseLabel)
}

// in reports whether a label set has the label. The unit of a number may be left out.
func (l *label) in(set []profile.Label) bool {
	return slices.ContainsFunc(set, func(have profile.Label) bool {
		return have.Key == l.key && (l.matches(have.Value()) || have.Text == "" && l.matches(strconv.FormatInt(have.Num, 10)))
	})
}

// checkLabels refuses labels without a key.
func (f *Filter) checkLabels() error {
	for _, flag := range []struct {
		name string
		list []string
	}{{"--label", f.Labels}, {"--no-label", f.NoLabels}, {"--root-label", f.RootLabels}, {"--leaf-label", f.LeafLabels}} {
		for _, text := range flag.list {
			if key, _, _ := strings.Cut(text, "="); key == "" {
				return param.Errorf("%s: %q has no key", flag.name, text)
			}
		}
	}
	return nil
}

// EachLabelled calls f with every selected profile whose original file is kept, and the tree of its
// samples that the labels select; the sum of the profile is that of the tree. It returns notes on
// what was left out. Typ is the value type as a request names it.
func EachLabelled(ctx context.Context, st store.Store, q store.Query, typ string, labels *LabelFilter, limits profile.Limits,
	f func(store.Profile, *calltree.Tree)) (notes []string, err error) {
	v, err := newViewer(ctx, &Filter{SampleFilter: SampleFilter{LabelFilter: *labels}}, typ)
	if err != nil {
		return nil, err
	}
	read := reading{limits: limits, viewer: v}
	list, err := read.originals(ctx, st, q, labels.Flag())
	if err == nil {
		list, err = v.byLabels(list)
	}
	if err != nil {
		return nil, err
	}
	for i := range list {
		stored := *list[i].stored
		table, _, err := list[i].viewer.ParseType(stored.Type.Name)
		if err != nil {
			return nil, err
		}
		t := calltree.FromProfile(list[i].viewer.Profile(), table)
		stored.Sum = t.RootTotal()
		f(stored, t)
	}
	return v.notes, nil
}

// byLabels returns the inputs with the samples that the labels select, under the frames of
// the labels that group them. A label that no input has is an error.
func (v *viewer) byLabels(list []Input) ([]Input, error) {
	keep, drop := parseLabels(v.Labels), parseLabels(v.NoLabels)
	if len(keep)+len(drop)+len(v.RootLabels)+len(v.LeafLabels) == 0 {
		return list, nil
	}
	if err := v.findLabels(list, slices.Concat(keep, parseLabels(v.RootLabels), parseLabels(v.LeafLabels))); err != nil {
		return nil, err
	}
	out := slices.Clone(list)
	for i := range out {
		if out[i].viewer != nil {
			p := out[i].viewer.Profile().ByLabels(func(set []profile.Label) bool { return selects(keep, drop, set) }, v.RootLabels, v.LeafLabels)
			out[i].viewer = calltree.NewViewer(p)
		}
	}
	return out, nil
}

// selects reports whether a label set has one of the labels to keep of every key, and none
// of those to drop.
func selects(keep, drop []label, set []profile.Label) bool {
	found := map[string]bool{}
	for i := range keep {
		found[keep[i].key] = found[keep[i].key] || keep[i].in(set)
	}
	for _, ok := range found {
		if !ok {
			return false
		}
	}
	return !slices.ContainsFunc(drop, func(l label) bool { return l.in(set) })
}

// findLabels refuses a label that no input has: it names the keys there are, or the values
// of the key.
func (v *viewer) findLabels(list []Input, labels []label) error {
	for i := range labels {
		l := &labels[i]
		has := func(in Input) bool {
			return in.viewer != nil && slices.ContainsFunc(in.viewer.Profile().LabelSets, l.in)
		}
		if slices.ContainsFunc(list, has) {
			continue
		}
		anyValue := parseLabel(l.key)
		values := func(in *calltree.Viewer) (names []string) { return labelNames(in.Profile(), anyValue.key) }
		if slices.ContainsFunc(list, func(in Input) bool {
			return in.viewer != nil && slices.ContainsFunc(in.viewer.Profile().LabelSets, anyValue.in)
		}) {
			return notThere(list, "label", l.key+"="+l.value, values)
		}
		return notThere(list, "label", l.key, func(in *calltree.Viewer) []string { return labelNames(in.Profile(), "") })
	}
	return nil
}

// mostLabels bounds the labels that an error looks at.
const mostLabels = 1000

// labelNames returns the keys of a profile's labels, or the labels of one key as KEY=VALUE.
func labelNames(p *profile.Profile, key string) (names []string) {
	seen := map[string]bool{}
	for _, set := range p.LabelSets {
		for i := range set {
			name := set[i].Key
			switch {
			case key != "" && name != key:
				continue
			case key != "":
				name += "=" + set[i].Value()
			}
			if !seen[name] && len(names) < mostLabels {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}
