package mem

import (
	"context"
	"maps"
	"slices"

	"github.com/dendroprof/dendro/store"
)

// rawNames keeps one example of a raw name per function and group. Of several
// it is the smallest, so that the order of Puts does not matter.
type rawNames map[string]map[string]string

func (names rawNames) add(group string, r *store.Record) {
	for fn, raw := range r.RawNames {
		name := r.Forest.Functions[fn].Name
		if names[name] == nil {
			names[name] = map[string]string{}
		}
		if have, ok := names[name][group]; !ok || raw < have {
			names[name][group] = raw
		}
	}
}

// RawNames implements store.Reader.
func (s *Store) RawNames(ctx context.Context, group string, names []string) (map[string]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := map[string]string{}
	for _, name := range names {
		byGroup := s.raw[name]
		if raw, ok := byGroup[group]; ok {
			found[name] = raw
		} else if len(byGroup) > 0 {
			found[name] = slices.Min(slices.Collect(maps.Values(byGroup)))
		}
	}
	return found, nil
}
