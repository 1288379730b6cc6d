package windows

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
)

// TestShare: series of one kind have their texts once, and each of them is small, because a fleet has
// tens of thousands.
func TestShare(t *testing.T) {
	if size := unsafe.Sizeof(series{}); size > 240 {
		t.Errorf("a series has %d bytes without its labels", size)
	}
	st := &state{byKey: map[continuous.Key]*series{}, kinds: map[kind]*kind{}, names: map[string]string{}}
	for i, pod := range []string{"a", "b"} {
		copied := func(s string) string { return strings.Clone(s) } // as each request has its own
		st.add(&series{id: int32(i), typ: &profile.ValueType{Name: copied("cpu"), Unit: copied("nanoseconds")},
			Series: continuous.Series{Service: copied("shop"), Type: continuous.Type{Name: copied("process_cpu")},
				Labels: continuous.Labels{{Name: copied("pod"), Value: pod}}}})
	}
	a, b := st.list[0], st.list[1]
	for _, x := range [][2]string{{a.Service, b.Service}, {a.Type.Name, b.Type.Name}, {a.Labels[0].Name, b.Labels[0].Name}} {
		if x[0] == "" || unsafe.StringData(x[0]) != unsafe.StringData(x[1]) {
			t.Errorf("%q is there twice", x[0])
		}
	}
	if a.typ != b.typ || a.typ.Unit != "nanoseconds" || a.Labels[0].Value != "a" || b.Labels[0].Value != "b" || len(st.byKey) != 2 {
		t.Errorf("%+v, %+v", a, b)
	}
}
