package continuous

import (
	"fmt"
	"testing"
)

func TestByService(t *testing.T) {
	cpu, heap := Type{SampleType: "cpu"}, Type{SampleType: "inuse_space"}
	list := []Series{{Service: "a", Type: cpu}, {Service: "a", Type: cpu}, {Service: "a", Type: heap}, {Service: "b", Type: heap}}
	var services, types []int
	for own := range ByService(list) {
		services = append(services, len(own))
	}
	for own := range ByServiceAndType(list) {
		types = append(types, len(own))
	}
	for range ByService(nil) {
		t.Error("of nothing there is a group")
	}
	if got := fmt.Sprint(services, types); got != "[3 1] [2 1 1]" {
		t.Error(got)
	}
}
