package readtest

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/profile"
)

// Shape says what random profiles have.
type Shape struct {
	Types      []profile.ValueType // of the tables
	Times      bool                // rising within each thread
	Threads    bool
	Categories bool
	Modules    bool
	Markers    bool
	Address    bool // of the last table
}

// Profile draws a small random profile. Names are of any text but are not empty and
// hold no NUL, which no format has.
func Profile(t *rapid.T, shape Shape) *profile.Profile {
	p := profile.New(nil)
	name := rapid.Custom(func(t *rapid.T) string {
		return rapid.StringMatching(`[a-zA-Z$<>:."\\é☃(),; \n/]{0,8}`).Draw(t, "text") + "f"
	})
	if shape.Threads {
		for i := range rapid.IntRange(1, 3).Draw(t, "threads") {
			p.Threads = append(p.Threads, profile.Thread{
				Name: rapid.SampledFrom([]string{"main", "worker 1", `a "b"`}).Draw(t, "thread"), ID: fmt.Sprint(i + 10), Process: "7",
			})
		}
	}
	var stacks []profile.StackID
	for range rapid.IntRange(1, 8).Draw(t, "stacks") {
		parent := profile.NoStack
		if len(stacks) > 0 && rapid.Bool().Draw(t, "child") {
			parent = rapid.SampledFrom(stacks).Draw(t, "parent")
		}
		stacks = append(stacks, p.Symbols.Stack(parent, randomFrame(t, p, name, shape)))
	}
	stacks = append(stacks, profile.NoStack)
	for i, vt := range shape.Types {
		table := profile.Samples{Type: vt}
		for row := range rapid.IntRange(1, 10).Draw(t, "rows") {
			table.Add(rapid.SampledFrom(stacks).Draw(t, "stack"), rapid.Int64Range(-1000, 1_000_000).Draw(t, "value"))
			if shape.Times {
				table.Time = append(table.Time, int64(row)*rapid.Int64Range(1_000_000, 1_000_003).Draw(t, "step")*1000)
			}
			if shape.Threads {
				table.Thread = append(table.Thread, profile.ThreadID(rapid.IntRange(1, len(p.Threads)-1).Draw(t, "thread")))
			}
			if shape.Address && i == len(shape.Types)-1 {
				table.Address = append(table.Address, uint64(rapid.IntRange(0, 1<<40).Draw(t, "address")))
			}
		}
		p.Tables = append(p.Tables, table)
	}
	if shape.Markers {
		for i := range rapid.IntRange(0, 4).Draw(t, "markers") {
			start := int64(i) * 1_000_001
			var category profile.CategoryID
			if shape.Categories {
				category = p.Symbols.Category(profile.Category{Name: "Work", Color: "blue"})
			}
			p.Markers = append(p.Markers, profile.Marker{
				Category: category, Name: name.Draw(t, "marker"), Start: start, End: start + rapid.Int64Range(0, 5_000_000).Draw(t, "length"),
				Thread: profile.ThreadID(len(p.Threads) - 1),
				Fields: []profile.Label{{Key: "type", Text: "T"}, {Key: "k", Text: name.Draw(t, "field")}, {Key: "n", Num: int64(i)}},
			})
		}
	}
	return p
}

func randomFrame(t *rapid.T, p *profile.Profile, name *rapid.Generator[string], shape Shape) profile.FrameID {
	fn := profile.Function{Name: name.Draw(t, "function")}
	if rapid.Bool().Draw(t, "place") {
		fn.File = name.Draw(t, "file")
	}
	fr := profile.Frame{Line: rapid.Int32Range(0, 3).Draw(t, "line")}
	if shape.Modules {
		fn.Module = rapid.SampledFrom([]string{"", "libc", "app"}).Draw(t, "module")
		fn.StartLine = rapid.Int32Range(0, 2).Draw(t, "start")
		fn.Kind = rapid.SampledFrom([]profile.Kind{profile.KindUnknown, profile.KindJS, profile.KindJava}).Draw(t, "kind")
		fr.Address = uint64(rapid.IntRange(0, 2).Draw(t, "address"))
	}
	if shape.Categories {
		groups := []profile.Category{{}, {Name: "Idle", Color: "transparent"}, {Name: "Work", Color: "blue"},
			{Name: "Work", Color: "blue", Subcategory: "Hard"}}
		fr.Category = p.Symbols.Category(rapid.SampledFrom(groups).Draw(t, "category"))
	}
	fr.Function = p.Symbols.Function(fn)
	return p.Symbols.Frame(fr)
}
