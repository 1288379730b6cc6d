// Command dendro merges profiles into call trees, keeps every run, and finds
// what got slower. See `dendro --help`.
package main

import (
	"os"

	"github.com/dendroprof/dendro/app"
)

func main() {
	os.Exit(app.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
