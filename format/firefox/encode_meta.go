package firefox

import (
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/internal/intern"
	"github.com/dendroprof/dendro/profile"
)

// categoryList are the categories that are written: those of the profile or, if no
// frame has one, one per kind of function. The first is the default if it is grey,
// as the loader wants one that is.
type categoryList struct {
	list  []category
	index map[string]int32 // of a name and colour
	own   bool             // the profile has categories
}

var other = category{name: "Other", color: "grey"}

// kindCategories are name and colour by kind.
var kindCategories = map[profile.Kind]category{
	profile.KindUnknown:   other,
	profile.KindJava:      {name: "Java", color: "green"},
	profile.KindNative:    {name: "Native", color: "blue"},
	profile.KindCPP:       {name: "C++", color: "yellow"},
	profile.KindKernel:    {name: "Kernel", color: "orange"},
	profile.KindVM:        {name: "VM", color: "red"},
	profile.KindStub:      {name: "Stub", color: "darkgrey"},
	profile.KindGo:        {name: "Go", color: "lightblue"},
	profile.KindGoRuntime: {name: "Go runtime", color: "blue"},
	profile.KindPython:    {name: "Python", color: "yellow"},
	profile.KindJS:        {name: "JavaScript", color: "yellow"},
	profile.KindRuby:      {name: "Ruby", color: "red"},
	profile.KindDotNet:    {name: ".NET", color: "purple"},
	profile.KindPHP:       {name: "PHP", color: "purple"},
	profile.KindRust:      {name: "Rust", color: "brown"},
	profile.KindClass:     {name: "Class", color: "magenta"},
	profile.KindLabel:     {name: "Label", color: "lightred"},
	profile.KindJSLabel:   {name: "DOM", color: "blue"},
}

// start lists the categories of the frames in use and of the markers.
func (c *categoryList) start(p *profile.Profile, frames []bool) {
	c.index = map[string]int32{}
	s := p.Symbols
	used := make([]bool, len(s.Categories))
	for id, u := range frames {
		if u && s.Frames[id].Category != 0 {
			used[s.Frames[id].Category], c.own = true, true
		}
	}
	for _, m := range p.Markers {
		used[m.Category] = true
	}
	if !c.own {
		c.group(other)
	}
	for id, u := range used {
		if u && id > 0 {
			c.ofCategory(s.Categories[id])
		}
	}
	if c.grey() < 0 {
		c.group(other)
	}
	if c.own {
		return
	}
	for id, u := range frames {
		if u {
			c.ofKind(s, &s.Frames[id])
		}
	}
}

// group returns the index of a group and adds it if it is new.
func (c *categoryList) group(g category) int32 {
	key := g.name + "\x00" + g.color
	return intern.Number(c.index, &c.list, key, category{g.name, g.color, []string{"Other"}})
}

// sub returns the index of a subcategory of a group; the group itself is 0.
func (c *categoryList) sub(group int32, name string) int32 {
	if name == "" {
		return 0
	}
	g := &c.list[group]
	if i := slices.Index(g.subcategories[1:], name); i >= 0 {
		return int32(i + 1)
	}
	g.subcategories = append(g.subcategories, name)
	return int32(len(g.subcategories) - 1)
}

// grey returns the default category.
func (c *categoryList) grey() int32 {
	return int32(slices.IndexFunc(c.list, func(g category) bool { return g.color == "grey" }))
}

func (c *categoryList) ofCategory(k profile.Category) (group, sub int32) {
	group = c.group(category{name: k.Name, color: k.Color})
	return group, c.sub(group, k.Subcategory)
}

// ofKind returns the category of a frame by its function's kind and its compile
// mode.
func (c *categoryList) ofKind(s *profile.Symbols, fr *profile.Frame) (group, sub int32) {
	g, ok := kindCategories[s.Functions[fr.Function].Kind]
	if !ok {
		g = other
	}
	group = c.group(g)
	if !fr.Type.CompileMode() {
		return group, 0
	}
	return group, c.sub(group, fr.Type.String())
}

// of returns the category of a frame; absent if it has its caller's.
func (c *categoryList) of(s *profile.Symbols, fr *profile.Frame) (group, sub int32) {
	switch {
	case !c.own:
		return c.ofKind(s, fr)
	case fr.Category == 0:
		return absent, absent
	}
	return c.ofCategory(s.Categories[fr.Category])
}

// markerType is the type of markers that have no field `type`.
const markerType = "marker"

// typeOf returns the type of a marker.
func typeOf(m *profile.Marker) string {
	for _, f := range m.Fields {
		if f.Key == "type" && f.Text != "" {
			return f.Text
		}
	}
	return markerType
}

// markerSchema writes which fields the types of markers have, without which
// Firefox Profiler shows none.
func (e *encoder) markerSchema() {
	var order []string
	fields := map[string][]string{}
	for i := range e.p.Markers {
		m := &e.p.Markers[i]
		kind := typeOf(m)
		if _, ok := fields[kind]; !ok {
			order = append(order, kind)
			fields[kind] = nil
		}
		for _, f := range m.Fields {
			if f.Key != "type" && !slices.Contains(fields[kind], f.Key) {
				fields[kind] = append(fields[kind], f.Key)
			}
		}
	}
	e.List(len(order), func(i int) {
		kind := order[i]
		e.Put(`{"name":`, kind, `,"display":["marker-chart","marker-table","timeline-overview"],"fields":`)
		e.List(len(fields[kind]), func(j int) {
			key := fields[kind][j]
			e.Put(`{"key":`, key, `,"label":`, key, `,"format":"string"}`)
		})
		e.Put("}")
	})
}

// markers writes the markers of a thread.
func (e *encoder) markers(t *threadRows) {
	list := t.markers
	m := func(i int) *profile.Marker { return &e.p.Markers[list[i]] }
	n := len(list)
	e.begin("markers", n)
	e.column("data", n, func(i int) { e.payload(m(i)) })
	e.ids("name", n, func(i int) int32 { return e.string(m(i).Name) })
	e.column("startTime", n, func(i int) { e.millis(m(i).Start) })
	e.column("endTime", n, func(i int) {
		if m(i).End > m(i).Start {
			e.millis(m(i).End)
		} else {
			e.Put("null")
		}
	})
	e.ids("phase", n, func(i int) int32 {
		if m(i).End > m(i).Start {
			return phaseInterval
		}
		return phaseInstant
	})
	e.ids("category", n, func(i int) int32 {
		if m(i).Category == 0 {
			return e.categories.grey()
		}
		group, _ := e.categories.ofCategory(e.p.Symbols.Categories[m(i).Category])
		return group
	})
	e.Put("}")
}

// payload writes the fields of a marker.
func (e *encoder) payload(m *profile.Marker) {
	e.Put(`{"type":`, typeOf(m))
	for _, f := range m.Fields {
		switch {
		case f.Key == "type":
		case f.Text != "":
			e.Put(",", f.Key, ":", f.Text)
		default:
			e.Put(",", f.Key, ":"+strconv.FormatInt(f.Num, 10))
		}
	}
	e.Put("}")
}
