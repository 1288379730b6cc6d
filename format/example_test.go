package format_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
)

// A Reader takes whatever is in a file.
func ExampleReader_Read() {
	r := format.NewReader(profile.Limits{})
	for d, err := range r.Read("orders.collapsed", strings.NewReader("main;parse 3\nmain;sort 5\n")) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		for _, t := range d.Profile.Tables {
			fmt.Println(d.Name, d.Format.Name, t.Type, t.Total())
		}
	}
	// Output: orders.collapsed folded cpu-samples (count) 8
}

// The name of a file says how it is written.
func ExampleTarget() {
	r := format.NewReader(profile.Limits{})
	for d := range r.Read("x", strings.NewReader("main;parse 3\n")) {
		f, compression, err := format.Target("orders.pb.gz", "")
		if err != nil {
			fmt.Println(err)
			return
		}
		var file bytes.Buffer
		if err := format.Write(&file, d.Profile, -1, f, compression); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(f.Name, compression)
	}
	// Output: pprof gzip
}
