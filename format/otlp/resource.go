package otlp

import (
	"bytes"
	"cmp"
	"math"
	"strings"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/profile"
)

// Resource is what one resource, such as a process, sent in a request.
type Resource struct {
	Attributes []profile.Label  // of the resource, then name and version of the scope
	Profiles   int              // messages
	IDs        string           // of all profiles, joined; empty if one has none
	Profile    *profile.Profile // their sum; nil with an error
	Err        error            // of this resource; the others may be right
}

// Keys under which Attributes has the scope.
const (
	KeyScopeName    = "otel.scope.name"
	KeyScopeVersion = "otel.scope.version"
)

// DecodeEach reads a content like Decode, into one profile for each resource of a message.
// The error is that of a content that cannot be read at all.
func (d *Decoder) DecodeEach(content []byte, s *profile.Symbols, l profile.Limits) (list []Resource, err error) {
	l = l.WithDefaults()
	if d.buf, err = protobuf.ReadAll(bytes.NewBuffer(content), d.buf, min(l.Message, math.MaxInt32)); err != nil {
		return nil, err
	}
	k := newLinker(profile.New(s), l, len(d.buf))
	k.each = func(r Resource) { list = append(list, r) }
	err = decodeAll(d.buf, l, k)
	if len(d.buf) > keepBytes {
		d.buf = nil
	}
	if err != nil {
		return nil, protobuf.Place(err)
	}
	return list, nil
}

// resourceBytes is about what a resource takes as a profile of its own, even an empty one.
const resourceBytes = 2 << 10

// apart links a resource into a profile of its own.
func (k *linker) apart(r *resource) error {
	if err := k.limits.Take(resourceBytes); err != nil {
		return err
	}
	fresh := newLinker(profile.New(k.symbols), k.limits, 0)
	k.p, k.facts, k.tables, k.byKey, k.comments, k.notes = fresh.p, fresh.facts, nil, fresh.byKey, fresh.comments, notes{}
	k.begin, k.end, k.resource, k.several, k.common = fresh.begin, fresh.end, nil, false, nil
	out := Resource{}
	for range r.profiles {
		out.Profiles++
	}
	if out.Err = k.link(r); out.Err == nil {
		out.Profile = k.finish()
		out.Profile.CountLost()
		out.Profile, out.Err = out.Profile.Checked()
	} else {
		out.Err = protobuf.Place(out.Err)
	}
	out.Attributes = k.resource
	name, version := r.scope()
	for _, l := range []profile.Label{{Key: KeyScopeName, Text: name}, {Key: KeyScopeVersion, Text: version}} {
		if l.Text != "" {
			out.Attributes = append(out.Attributes, l)
		}
	}
	out.IDs = r.ids()
	k.each(out)
	return nil
}

// profiles yields the profiles of all scopes.
func (r *resource) profiles(yield func(p *profileMessage) bool) {
	for i := range r.Scopes {
		for j := range r.Scopes[i].Profiles {
			if !yield(&r.Scopes[i].Profiles[j]) {
				return
			}
		}
	}
}

// scope returns name and version of the last scope that has them.
func (r *resource) scope() (name, version string) {
	for i := range r.Scopes {
		s := &r.Scopes[i].Scope
		name, version = cmp.Or(s.Name, name), cmp.Or(s.Version, version)
	}
	return name, version
}

// ids returns the ids of the profiles of a resource, joined; empty if one has none.
func (r *resource) ids() string {
	var all strings.Builder
	for p := range r.profiles {
		if hexID(p.ID) == "" {
			return ""
		}
		all.Write(p.ID)
	}
	return all.String()
}
