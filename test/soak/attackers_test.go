//go:build linux

package soak

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// attackers send what once ended the server or stopped the pushes of others: long labels times
// many sets of labels, random stacks with long names of files, windows of 26 years, services that
// are refused, labels of high cardinality, large patterns, SQL that makes large values, archives
// whose members overlap. Refusals are what they should get.
type attackers struct{}

func (attackers) name() string                               { return "attackers" }
func (attackers) workers() int                               { return 2 }
func (attackers) needsDisk() bool                            { return true }
func (attackers) missing(*testing.T, string) (lost, all int) { return 0, 0 }

func (attackers) step(ctx context.Context, s *soak, worker, n int) error {
	at, service, content := time.Now(), "attacker", []byte(nil)
	switch id := worker<<32 + n; n % 8 {
	case 0:
		service = fmt.Sprintf("attacker{a=%s,b=%[1]s,c=%[1]s}", strings.Repeat("x", 2000))
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
	case 5:
		query := `process_cpu:cpu:nanoseconds:cpu:nanoseconds{a=~"` + strings.Repeat(".?", 2000) + `Z"}`
		return refused(call(ctx, http.MethodGet, s.http+"/pyroscope/render?from=now-1h&query="+url.QueryEscape(query), "", ""))
	case 6:
		return refused(call(ctx, http.MethodPost, s.http+"/api/v1/sql", "application/sql", "SELECT length(repeat('a', 4000000000 + i)) FROM range(3) r(i)"))
	case 7:
		return refused(call(ctx, http.MethodPost, s.http+"/api/v1/view?name=x.zip", "application/octet-stream", overlapping))
	}
	address := fmt.Sprintf("%s/ingest?name=%s&from=%d&until=%d&format=pprof", s.http, url.QueryEscape(service), at.Add(-time.Minute).Unix(),
		at.Unix())
	return refused(call(ctx, http.MethodPost, address, "application/octet-stream", string(content)))
}

// refused returns an error that is no refusal.
func refused(_ string, err error) error {
	if err != nil && slices.ContainsFunc([]string{"400", "413", "422", "429", "503"},
		func(status string) bool { return strings.HasPrefix(err.Error(), status) }) {
		return nil
	}
	return err
}

// overlapping is a zip archive with 3,000 entries of its directory for one member of 6 MB.
var overlapping = func() string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	member, err := z.Create("a.folded")
	for i := 0; i < 130_000 && err == nil; i++ {
		_, err = fmt.Fprintf(member, "main;handler%d;service%d;query%d 1\n", i%97, i*7919%1009, i)
	}
	if err := errors.Join(err, z.Close()); err != nil {
		panic(err) // it is built here
	}
	end := bytes.LastIndex(b.Bytes(), []byte("PK\x05\x06"))
	last := slices.Clone(b.Bytes()[end:])
	directory := int(binary.LittleEndian.Uint32(last[16:]))
	entries := bytes.Repeat(b.Bytes()[directory:end], 3000)
	binary.LittleEndian.PutUint16(last[8:], 3000)
	binary.LittleEndian.PutUint16(last[10:], 3000)
	binary.LittleEndian.PutUint32(last[12:], uint32(len(entries)))
	return b.String()[:directory] + string(entries) + string(last)
}()

// hostile returns a profile of 2,000 samples, functions and stacks, which change may alter.
func hostile(change func(p *profile.Profile, i int)) []byte {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1}
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
