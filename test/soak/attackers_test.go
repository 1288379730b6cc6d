//go:build linux

package soak

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// attackers push what once ended the server or stopped the pushes of others: long labels times
// many sets of labels, random stacks with long names of files, windows of 26 years, services that
// are refused and labels of high cardinality. Refusals are what they should get.
type attackers struct{}

func (attackers) name() string                               { return "attackers" }
func (attackers) workers() int                               { return 2 }
func (attackers) needsDisk() bool                            { return true }
func (attackers) missing(*testing.T, string) (lost, all int) { return 0, 0 }

func (attackers) step(ctx context.Context, s *soak, worker, n int) error {
	at, service, content := time.Now(), "attacker", []byte(nil)
	switch id := worker<<32 + n; n % 5 {
	case 0:
		service = fmt.Sprintf("attacker{a=%s,b=%[1]s,c=%[1]s}", strings.Repeat("x", 4000))
		content = hostile(func(p *profile.Profile, i int) { p.Sample[i].Label = map[string][]string{"id": {fmt.Sprint(id, i)}} })
	case 1:
		content = hostile(func(p *profile.Profile, i int) {
			p.Function[i].Name, p.Function[i].Filename = fmt.Sprint("f", id, i), fmt.Sprint(id, i, strings.Repeat("f", 3000))
		})
	case 2:
		at = at.Add(-time.Duration(id%9500) * 24 * time.Hour)
		content = hostile(func(*profile.Profile, int) {})
	case 3:
		service, content = fmt.Sprint("refused", id), []byte("no profile")
	case 4:
		content = hostile(func(p *profile.Profile, i int) { p.Sample[i].Label = map[string][]string{"user": {fmt.Sprint(id, i)}} })
	}
	address := fmt.Sprintf("%s/ingest?name=%s&from=%d&until=%d&format=pprof", s.http, url.QueryEscape(service), at.Add(-time.Minute).Unix(), at.Unix())
	_, err := call(ctx, http.MethodPost, address, "application/octet-stream", string(content))
	if err != nil {
		for _, status := range []string{"400", "429", "503"} {
			if strings.HasPrefix(err.Error(), status) {
				return nil
			}
		}
	}
	return err
}

// hostile returns a profile of 2,000 samples, functions and stacks, which change may alter.
func hostile(change func(p *profile.Profile, i int)) []byte {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1}
	for i := range 2000 {
		f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprint("f", i)}
		l := &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{int64(i + 1)}, Location: []*profile.Location{l}})
		change(p, i)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		panic(err) // it is built here
	}
	return b.Bytes()
}
