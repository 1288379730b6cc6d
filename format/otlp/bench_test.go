package otlp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// largeProfile is in the shape of the recorded profile, as a day of a service
// would give: its stacks called from 2,000 handlers, with times and threads.
var largeProfile = sync.OnceValue(func() *profile.Profile {
	p := mustDecode(new(testing.B), readtest.File(new(testing.B), recorded[0]))
	s := p.Symbols
	r := rand.New(rand.NewPCG(1, 2))
	var stacks []profile.StackID
	for i := range 2000 {
		fn := s.Function(profile.Function{Name: fmt.Sprintf("shop/demo/Handler%d.run", i), Kind: profile.KindJava})
		st := s.Stack(profile.NoStack, s.Frame(profile.Frame{Function: fn}))
		for _, id := range s.Path(p.Tables[0].Stack[r.IntN(p.Tables[0].Len())], nil) {
			st = s.Stack(st, id)
		}
		stacks = append(stacks, st)
	}
	t := profile.Samples{Type: p.Tables[0].Type}
	for i := range 1_900_000 {
		t.Add(stacks[r.IntN(len(stacks))], 1)
		t.Time = append(t.Time, int64(i)*1e6)
		t.Thread = append(t.Thread, profile.ThreadID(r.IntN(len(p.Threads))))
	}
	p.Tables = []profile.Samples{t}
	return p
})

// largeJSON is the JSON form of samples like those.
var largeJSON = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString(strings.Replace(full[:strings.Index(full, `"samples": [`)], "\n", " ", -1))
	b.WriteString(`"samples": [{}`)
	for i := 0; b.Len() < 50<<20; i++ {
		fmt.Fprintf(&b, `,{"stackIndex":%d,"attributeIndices":[1,2],"values":["1"],"timestampsUnixNano":["%d"]}`, 1+i%2, 1795216842000000000+i)
	}
	b.WriteString(`]}]}]}],` + full[strings.Index(full, `"dictionary"`):])
	return b.String()
})

func BenchmarkDecode(b *testing.B) {
	var msg bytes.Buffer
	if err := Encode(&msg, largeProfile(), -1); err != nil {
		b.Fatal(err)
	}
	readtest.Measure(b, "form=protobuf/dendro", msg.Len(), func() error {
		_, err := decode(msg.Bytes())
		return err
	})
	text := []byte(largeJSON())
	readtest.Measure(b, "form=json/dendro", len(text), func() error {
		_, err := decode(text)
		return err
	})
	// encoding/json reads into structs and links nothing.
	readtest.Measure(b, "form=json/encoding-json", len(text), func() error {
		var data struct {
			ResourceProfiles []struct {
				ScopeProfiles []struct {
					Profiles []struct {
						Samples []struct {
							StackIndex         int32
							AttributeIndices   []int32
							Values             []string
							TimestampsUnixNano []string
						}
					}
				}
			}
			Dictionary struct{ StringTable []string }
		}
		return json.Unmarshal(text, &data)
	})
}

func BenchmarkEncode(b *testing.B) {
	p := largeProfile()
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		if err := Encode(&out, p, -1); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(out.Len()))
	}
}
