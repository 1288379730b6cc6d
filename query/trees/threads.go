package trees

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
)

// selected returns the inputs with the samples that the labels select, without those that
// have none of the selected threads. A label or thread that no
// input has is an error.
func (v *viewer) selected(list []Input) ([]Input, error) {
	list, err := v.byLabels(list)
	if err != nil {
		return nil, err
	}
	if len(v.Threads) == 0 {
		return list, nil
	}
	has := make([]bool, len(list))
	for _, name := range v.Threads {
		found := false
		for i := range list {
			if list[i].viewer != nil && len(list[i].viewer.FindThreads(name)) > 0 {
				has[i], found = true, true
			}
		}
		if !found {
			return nil, notThere(list, "thread", name, (*calltree.Viewer).ThreadNames)
		}
	}
	var with []Input
	for i := range list {
		if has[i] {
			with = append(with, list[i])
		}
	}
	if n := len(list) - len(with); n > 0 {
		v.note("%s without such a thread dropped", words.Counted(n, "profile"))
	}
	return with, nil
}

// checkStates refuses a state that none of the inputs has, unless it is the name of a state
// in which just no thread is: then it selects nothing, and a note says so. Where no
// sample has a state, every name is refused.
func (v *viewer) checkStates(list []Input) error {
	withStates := slices.ContainsFunc(list, func(in Input) bool {
		return in.viewer != nil && slices.ContainsFunc(in.viewer.States(), func(s string) bool { return s != "" })
	})
	for _, name := range v.stateNames() {
		has := func(in Input) bool { return in.viewer != nil && len(statesNamed(in.viewer, []string{name})) > 0 }
		if !slices.ContainsFunc(list, has) {
			if withStates && profile.KnownState(name) {
				v.note("no samples are in state %s", words.Clean(name))
				continue
			}
			return notThere(list, "state", name, (*calltree.Viewer).States)
		}
	}
	return nil
}

// notThere is the error of a name that no input has. It lists the names there are if they
// are few, else the closest ones.
func notThere(list []Input, what, name string, names func(*calltree.Viewer) []string) error {
	var have []string
	for i := range list {
		if list[i].viewer != nil {
			have = append(have, names(list[i].viewer)...)
		}
	}
	slices.Sort(have)
	have = slices.DeleteFunc(slices.Compact(have), func(name string) bool { return name == "" })
	of := fmt.Sprintf(" in any of %d profiles", len(list))
	prefix := ""
	if len(list) == 1 {
		prefix, of = list[0].prefix(), ""
	}
	hint := query.ClosestOrAll(name, have)
	if len(have) == 0 {
		hint = fmt.Sprintf(": its samples have no %ss", what)
	}
	return fmt.Errorf("%sno %s is named %s%s%s", prefix, what, words.Clean(name), of, hint)
}

// stateNames returns the selected states, each alone.
func (f *SampleFilter) stateNames() []string {
	var names []string
	for _, list := range f.States {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// statesNamed returns the states of a profile that one of the names selects, without
// regard to case; not nil.
func statesNamed(viewer *calltree.Viewer, names []string) []profile.StateID {
	ids := []profile.StateID{}
	for i, state := range viewer.States() {
		if i > 0 && slices.ContainsFunc(names, func(name string) bool {
			return callpath.Glob(strings.ToLower(name))(strings.ToLower(state))
		}) {
			ids = append(ids, profile.StateID(i))
		}
	}
	return ids
}
