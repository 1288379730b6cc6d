package profile_test

import (
	"fmt"

	"github.com/dendroprof/dendro/profile"
)

func ExampleValueType_Format() {
	cpu := profile.ValueType{Name: profile.CPU, Unit: "nanoseconds"}
	heap := profile.ValueType{Name: profile.Live, Unit: "bytes"}
	tenths := profile.ValueType{Name: "weight", Unit: "count", Scale: 1}
	fmt.Println(cpu.Format(570_000_000), cpu.FormatChange(-20_000), heap.Format(3<<20), tenths.Format(15))
	// Output: 570 ms -20 µs 3 MiB 1.50
}
