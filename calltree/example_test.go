package calltree_test

import (
	"fmt"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/test/proftest"
)

func ExampleViewer() {
	p := proftest.Columns(`
		main   main    main
		parse  render  render
		read   layout  render
		               paint
	`)
	collapse, err := calltree.ParseTransform("collapse-recursion:render")
	if err != nil {
		panic(err)
	}
	viewer := calltree.NewViewer(p)
	shown, err := viewer.Show(calltree.View{Transforms: []calltree.Transform{collapse}})
	if err != nil {
		panic(err)
	}
	shown.Walk(func(n int32) bool {
		fmt.Printf("%s%s %d\n", strings.Repeat("  ", int(shown.Depth[n])), shown.Name(n), shown.Total[n])
		return true
	})
	// Output:
	// main 3
	//   render 2
	//     layout 1
	//     paint 1
	//   parse 1
	//     read 1
}
