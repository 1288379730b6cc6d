package param

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
)

type inner struct {
	Rows int `param:"rows" arg:"n" min:"0" page:"25" help:"maximum number of rows"`
}

type request struct {
	Names []string          `param:"name" help:"names"`
	Pairs map[string]string `param:"attr" help:"attributes"`
	Sort  string            `param:"sort" choices:"total,self"`
	Share percent           `param:"share" default:"1%"`
	Deep  bool              `param:"deep"`
	From  *percent          `param:"from"`
	inner `group:"Limits"`
	Free  string
}

type percent float64

func (p *percent) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%g%%", (*float64)(p))
	return err
}

func (p percent) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%g%%", float64(p)), nil }

func lookup(list []*Parameter, name string) *Parameter {
	for _, p := range list {
		if p.Name == name {
			return p
		}
	}
	panic("no parameter " + name)
}

func TestOf(t *testing.T) {
	var r request
	list := Of(&r)
	if len(list) != 7 || r.Sort != "total" || r.Share != 1 || r.From != nil {
		t.Fatalf("%d parameters, %+v", len(list), r)
	}
	if rows := lookup(list, "rows"); rows.Group != "Limits" || rows.Type() != "n" {
		t.Errorf("rows: group %q, placeholder %q", rows.Group, rows.Type())
	}
	for _, set := range []string{"name=a", "name=b", "attr=k=v=w", "sort=self", "share=2.5%", "deep=", "rows=7"} {
		name, text, _ := strings.Cut(set, "=")
		if err := lookup(list, name).Set(text); err != nil {
			t.Errorf("%s: %v", set, err)
		}
	}
	if err := lookup(list, "from").Set("3%"); err != nil || *r.From != 3 {
		t.Errorf("from: %v, %v", r.From, err)
	}
	r.From = nil
	if got := fmt.Sprintf("%+v", r); got != "{Names:[a b] Pairs:map[k:v=w] Sort:self Share:2.5 Deep:true From:<nil> inner:{Rows:7} Free:}" {
		t.Error(got)
	}
	lookup(list, "rows").UsePage()
	if r.Rows != 7 {
		t.Error("a page's default replaced a value that was set")
	}
}

func TestPageDefault(t *testing.T) {
	var r struct {
		request `default:"sort=self" page:"rows=3"`
	}
	list := Of(&r)
	lookup(list, "rows").UsePage()
	if r.Rows != 3 || r.Sort != "self" {
		t.Errorf("%+v", r)
	}
}

func TestRefused(t *testing.T) {
	for set, want := range map[string]string{
		"sort=size": `"size" is not one of total, self`, "rows=-1": "-1 is less than 0", "rows=x": `"x" is not a whole number`,
		"attr=x": `"x" is not key=value`, "deep=maybe": `"maybe" is not true or false`,
	} {
		name, text, _ := strings.Cut(set, "=")
		if err := lookup(Of(&request{}), name).Set(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v", set, err)
		}
	}
}

// TestBounds: a number outside of the bounds is refused as it was written.
func TestBounds(t *testing.T) {
	var r struct {
		Rows  int     `param:"rows" min:"0" max:"100"`
		Share float64 `param:"share" max:"0.5"`
	}
	for set, want := range map[string]string{
		"rows=100": "", "rows=1000000": "1000000 is more than 100", "rows=-1": "-1 is less than 0",
		"share=0.5": "", "share=0.51": "0.51 is more than 0.5",
	} {
		name, text, _ := strings.Cut(set, "=")
		if err := lookup(Of(&r), name).Set(text); fmt.Sprint(err) != cmp.Or(want, "<nil>") {
			t.Errorf("%s: %v", set, err)
		}
	}
}

// TestPercent: only a percentage may be written with its sign.
func TestPercent(t *testing.T) {
	var r struct {
		Min    float64 `param:"min-percent"`
		Impact float64 `param:"min-impact"`
	}
	list := Of(&r)
	for _, text := range []string{"5", "5%", "5 %"} {
		if err := lookup(list, "min-percent").Set(text); err != nil || r.Min != 5 {
			t.Errorf("%q: %g, %v", text, r.Min, err)
		}
	}
	if err := lookup(list, "min-impact").Set("25%"); err == nil {
		t.Errorf("25%% is %g", r.Impact)
	}
}
