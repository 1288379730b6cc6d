package folded_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/dendroprof/dendro/format/folded"
	"github.com/dendroprof/dendro/profile"
)

func Example() {
	const text = `[main tid=1];shop/Ledger.run_[j];shop/Ledger.work_[i] 159
[main tid=1];shop/Ledger.run_[j] 3
`
	p, err := folded.NewDecoder().Decode(strings.NewReader(text), nil, profile.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := p.Symbols
	leaf := s.Frames[s.Leaf(p.Tables[0].Stack[0])]
	fmt.Println(p.Threads[p.Tables[0].Thread[0]].Name, s.Functions[leaf.Function].Name, leaf.Type, p.Tables[0].Total())
	if err := folded.Encode(os.Stdout, p, -1); err != nil {
		fmt.Println(err)
	}
	// Output:
	// main shop/Ledger.work inlined 162
	// [main tid=1];shop/Ledger.run_[j] 3
	// [main tid=1];shop/Ledger.run_[j];shop/Ledger.work_[i] 159
}

func ExampleDecoder_Decode_error() {
	_, err := folded.NewDecoder().Decode(strings.NewReader("a;b 3\na;c\n"), nil, profile.Limits{})
	fmt.Println(strings.Contains(err.Error(), "2: malformed: no count at the end of the line"))
	// Output: true
}

// One decoder for many files of the same program finds nearly all stacks of the
// next file already known.
func ExampleDecoder() {
	d := folded.NewDecoder()
	symbols := profile.NewSymbols()
	for _, run := range []string{"a;b;c 3\na;b;d 1\n", "a;b;c 4\na;b;e 2\n"} {
		p, err := d.Decode(strings.NewReader(run), symbols, profile.Limits{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Tables[0].Total(), "samples;", symbols.Stacks.Len(), "stacks known")
	}
	// Output:
	// 4 samples; 4 stacks known
	// 6 samples; 5 stacks known
}
