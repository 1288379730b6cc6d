package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/words"
)

// cutOptions are the flags that drop rows.
type cutOptions struct {
	depth      int
	minPercent float64
	rows       int
}

// page is what fits on some screens of text.
var page = cutOptions{minPercent: 0.5}

func (c *cutOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&c.depth, "depth", 0, "show `n` levels (0: all)")
	cmd.Flags().Float64Var(&c.minPercent, "min-percent", c.minPercent, "leave out nodes with a total below this `share` of the root; other outputs than text and md have all unless it is given")
	cmd.Flags().IntVar(&c.rows, "rows", c.rows, "print `n` rows at most (0: all)")
}

// settle takes back defaults that are for people who read a page of text.
func (c *cutOptions) settle(cmd *cobra.Command, format outputFormat) error {
	if c.depth < 0 || c.rows < 0 || c.minPercent < 0 {
		return usagef("--depth, --rows and --min-percent must not be negative")
	}
	if format.complete() {
		if !cmd.Flags().Changed("min-percent") {
			c.minPercent = 0
		}
		if !cmd.Flags().Changed("rows") {
			c.rows = 0
		}
	}
	return nil
}

// out reports whether a row is left out, given how many are in.
func (c *cutOptions) out(depth int32, total, root float64, in int) bool {
	return total*100 < c.minPercent*root || c.depth > 0 && int(depth) >= c.depth || c.rows > 0 && in >= c.rows
}

// leftOut says on stderr what a table does not show.
func leftOut(e *env, format outputFormat, n int, word string) {
	if n > 0 && format == "text" {
		fmt.Fprintf(e.err, "%s more %s (--rows)\n", grouped(n), words.Plural(n, word))
	}
}
