package otlp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// TestSharedEntries: what many entries of a message refer to is made once, or counted each time. Each
// content would cost its size squared.
func TestSharedEntries(t *testing.T) {
	const n = 100_000
	content := func(profiles, strings, attributes string) string {
		return fmt.Sprintf(`{"resourceProfiles":[{"scopeProfiles":[{"profiles":[%s]}]}],`+
			`"dictionary":{"stringTable":["",%s],"attributeTable":[{},%s]}}`, profiles, strings, attributes)
	}
	many := func(text string) string { return strings.Repeat(text+",", n) + text }
	list := func(key, value string) string {
		return content(`{"attributeIndices":[`+many("1")+`]}`, `"`+key+`"`,
			`{"keyStrindex":1,"value":{"arrayValue":{"values":[`+many(value)+`]}}}`)
	}
	for name, c := range map[string]struct {
		content string
		want    error
	}{
		"a list as text":     {list(keyDropFrames, `{"stringValue":"a frame"}`), nil},
		"a list of comments": {list(keyComment, `{"intValue":"1"}`), profile.ErrTooLarge},
		"a unit": {content(many(`{"sampleType":{"unitStrindex":1}}`), `"`+strings.Repeat("u", 1<<20)+`"`, `{}`),
			profile.ErrTooLarge},
	} {
		if _, err := NewDecoder().Decode(strings.NewReader(c.content), nil, profile.Limits{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// filled has no room.
type filled struct{ left int64 }

var errFull = errors.New("full")

func (f *filled) Take(n int64) error {
	if f.left -= n; f.left < 0 {
		return errFull
	}
	return nil
}

// TestResourcesAreCounted: an empty resource of two bytes is a profile of its own.
func TestResourcesAreCounted(t *testing.T) {
	room := &filled{10 << 20}
	list, err := NewDecoder().DecodeEach(bytes.Repeat([]byte("\x0a\x00"), 20_000), nil, profile.Limits{Room: room})
	if !errors.Is(err, errFull) {
		t.Errorf("%d resources, %v", len(list), err)
	}
}
