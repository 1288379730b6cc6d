package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/profile"
)

// TestStackBytes: the memory of stacks is counted before they are made, once for all files.
func TestStackBytes(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "main;f%d 1\n", i)
	}
	for _, in := range []func() io.Reader{
		func() io.Reader { return strings.NewReader(text.String()) },
		func() io.Reader { return bytes.NewBufferString(text.String()) },
	} {
		for _, most := range []int64{1000, 6000} {
			ctx, end := cost.Begin(t.Context(), cost.Limits{Memory: cost.Limit{Max: most * 100, What: "bytes of stacks"}})
			defer end()
			r := format.NewReader(profile.Limits{})
			r.Context, r.StackBytes = ctx, 100
			for range 3 {
				symbols := r.Symbols()
				for d, err := range r.Read("x.folded", in()) {
					var exceeded *cost.Exceeded
					if (most < 5000) != errors.As(err, &exceeded) || err == nil && d.Profile.Tables[0].Len() != 5000 {
						t.Errorf("at most %d stacks: %v", most, err)
					}
				}
				if n := int64(symbols.Stacks.Len()); n > most || (n-1)*100 > cost.Of(ctx).Spent(cost.Memory) {
					t.Errorf("%d stacks, the maximum is %d, %d bytes were counted", n, most, cost.Of(ctx).Spent(cost.Memory))
				}
			}
		}
	}
}
