package param

import (
	"reflect"
	"testing"
)

// TestValues writes a request as texts and sets another from them.
func TestValues(t *testing.T) {
	share := percent(3)
	var sent request
	Of(&sent)
	if got := Values(&sent); len(got) != 0 {
		t.Errorf("a request of defaults has the parameters %v", got)
	}
	sent.Names, sent.Pairs, sent.Sort, sent.Share, sent.From, sent.Rows, sent.Free = []string{"a;b", ""},
		map[string]string{"k": "v=w", "a": "é"}, "self", 0, &share, 7, ""
	var got request
	list := Of(&got)
	for name, texts := range Values(&sent) {
		for _, text := range texts {
			if err := lookup(list, name).Set(text); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if !reflect.DeepEqual(sent, got) {
		t.Errorf("%+v became %+v", sent, got)
	}
}

// TestTooManyValues: a parameter has a maximum number of values, also if they are set otherwise.
func TestTooManyValues(t *testing.T) {
	var r request
	p := lookup(Of(&r), "name")
	for range maxValues {
		if err := p.Set("a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Set("a"); err == nil || len(r.Names) != maxValues {
		t.Errorf("%v, %d values", err, len(r.Names))
	}
	if err := Check(&r); err != nil {
		t.Error(err)
	}
	r.Names = append(r.Names, "a")
	if err := Check(&r); err == nil || err.Error() != "name: more than 1000 values" {
		t.Error(err)
	}
}
