package profile

import (
	"fmt"
	"testing"
)

// TestHidden compares tables: the same samples, some of them, others, none.
func TestHidden(t *testing.T) {
	p := &Profile{Tables: []Samples{
		{Stack: []StackID{1, 2, 3, 2}}, {Stack: []StackID{1, 2, 3, 2}}, {Stack: []StackID{2, 2}}, {Stack: []StackID{3, 1}}, {},
		{Stack: []StackID{1, 2, 3, 2, 4}},
	}}
	if got := fmt.Sprint(p.Hidden(0), p.Hidden(2), p.Hidden(3)); got != "[3] [3] [0 1 2 5]" {
		t.Error(got)
	}
}
