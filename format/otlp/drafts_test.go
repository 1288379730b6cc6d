package otlp

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// downgraded returns a message of 1.10 with the numbers of an older draft: the inverse of
// what the reader does.
func downgraded(t *testing.T, msg []byte, profiles bool) []byte {
	t.Helper()
	inverse := func(numbers []int) (old [16]int) {
		for from, to := range numbers {
			old[to] = from
		}
		return old
	}
	sample, prof := inverse(oldSample[:]), inverse(oldProfile[:])
	var rewrite func(msg []byte, pos, end int, path []int) []byte
	rewrite = func(msg []byte, pos, end int, path []int) (b []byte) {
		err := eachField(msg, pos, end, func(f wire.Field) error {
			num := f.Num
			switch {
			case len(path) == 0:
				num = sample[num]
			case len(path) == 1 && profiles:
				num = prof[num]
			}
			switch {
			case len(path) > 0 && f.Num == path[0]:
				b = wire.AppendBytes(b, num, rewrite(msg, f.Lo, f.Hi, path[1:]))
			case f.Type == wire.Bytes:
				b = wire.AppendBytes(b, num, msg[f.Lo:f.Hi])
			default:
				b = append(append(b, byte(num<<3|f.Type)), msg[f.Lo:f.Hi]...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return rewrite(msg, 0, len(msg), toSamples[:])
}

// TestDrafts reads the same content in the numbers of 1.8, 1.9 and 1.10.
func TestDrafts(t *testing.T) {
	for name, current := range map[string][]byte{
		"full": encode(t, mustDecode(t, []byte(full)), -1), "recorded": encode(t, mustDecode(t, readtest.File(t, recorded[0])), -1),
		"values alone": wire.AppendBytes(wire.AppendBytes(nil, 1, wire.AppendBytes(nil, 2, wire.AppendBytes(nil, 2, slices.Concat(
			wire.AppendBytes(nil, 1, []byte{1 << 3, 1, 2 << 3, 2}),
			wire.AppendBytes(nil, 2, append([]byte{1 << 3, 1}, wire.AppendBytes(nil, 4, []byte{7})...)))))),
			2, slices.Concat(wire.AppendBytes(nil, 2, ""), wire.AppendBytes(nil, 2, ""), wire.AppendBytes(nil, 7, ""),
				wire.AppendBytes(nil, 7, wire.AppendBytes(nil, 1, []byte{1})),
				wire.AppendBytes(nil, 5, ""), wire.AppendBytes(nil, 5, "cpu"), wire.AppendBytes(nil, 5, "nanoseconds"))),
	} {
		want := readtest.Describe(mustDecode(t, current))
		if p := mustDecode(t, current); p.Tables[0].Total() == 0 {
			t.Errorf("%s: empty", name)
		}
		for _, profiles := range []bool{false, true} {
			old := downgraded(t, current, profiles)
			if got := readtest.Describe(mustDecode(t, old)); got != want {
				t.Errorf("%s, numbers of 1.8: %v\n%s\nwant\n%s", name, profiles, got, want)
			}
			if !Sniff(old) {
				t.Errorf("%s: not recognised", name)
			}
		}
	}
	text := `{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"sampleType":{"typeStrindex":1,"unitStrindex":2,"aggregationTemporality":1},"commentStrindices":[3],
"sample":[{"stackIndex":1,"values":["7"]}]}]}]}],"dictionary":{"stringTable":["","cpu","nanoseconds","note","main"],"functionTable":[{},{"nameStrindex":4}],
"locationTable":[{},{"line":[{"functionIndex":1,"line":"3"}]}],"stackTable":[{},{"locationIndices":[1]}]}}`
	p := mustDecode(t, []byte(text))
	if got := readtest.Describe(p); !strings.Contains(got, "7 main:3:0\n") || !slices.Equal(p.Comments, []string{"note"}) {
		t.Errorf("%s %q", got, p.Comments)
	}
}

// TestOldDrafts refuses messages of 1.7 and older, in words.
func TestOldDrafts(t *testing.T) {
	profileOf := func(fields ...[]byte) []byte {
		return wire.AppendBytes(nil, 1, wire.AppendBytes(nil, 2, wire.AppendBytes(nil, 2, slices.Concat(fields...))))
	}
	kind := wire.AppendBytes(nil, 1, []byte{1 << 3, 1, 2 << 3, 2})
	sample := wire.AppendBytes(nil, 2, append([]byte{1 << 3, 0, 2 << 3, 2}, wire.AppendBytes(nil, 3, []byte{7})...))
	for name, msg := range map[string][]byte{
		"1.7":                              profileOf(kind, sample, wire.AppendBytes(nil, 3, []byte{1, 2}), []byte{4 << 3, 9, 5 << 3, 9}),
		"1.7, times":                       profileOf(kind, sample, []byte{4 << 3, 9, 5 << 3, 9}),
		"1.7, two types":                   profileOf(kind, kind, sample),
		"1.7, a link":                      profileOf(kind, wire.AppendBytes(nil, 2, []byte{2 << 3, 2, 5 << 3, 1})),
		"1.6, tables without a dictionary": append(profileOf(kind), wire.AppendBytes(nil, 6, "cpu")...),
		"1.6, mappings":                    append(profileOf(kind), wire.AppendBytes(nil, 2, []byte{1 << 3, 1})...),
		"1.5, tables in a profile":         profileOf(kind, sample, wire.AppendBytes(nil, 3, []byte{1 << 3, 1})),
		"JSON":                             []byte(`{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"sample":[{"locationsStartIndex":0,"locationsLength":2,"value":["7"]}]}]}]}]}`),
		"JSON, a list of types":            []byte(`{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"sampleType":[{"typeStrindex":1}]}]}]}]}`),
	} {
		_, err := decode(msg)
		if !errors.Is(err, profile.ErrUnsupported) || !strings.Contains(err.Error(), "opentelemetry-proto 1.7 or older") ||
			readtest.WrongError(err, int64(len(msg))) != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
