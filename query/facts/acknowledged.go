package facts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/plainfile"
	"github.com/dendroprof/dendro/internal/words"
)

// Acknowledgements are changes that are known and accepted.
type Acknowledgements []regression.Acknowledgement

// acknowledgement is an entry as it is written: a date need not have a time.
type acknowledgement struct {
	regression.Acknowledgement
	Until string `json:"until"`
}

// UnmarshalJSON reads a list of acknowledgements, whose dates need not have a time.
func (a *Acknowledgements) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	*a = nil
	switch start, err := dec.Token(); {
	case err != nil || start == nil: // null
		return err
	case start != json.Delim('['):
		return errors.New("acknowledged: want a list")
	}
	for dec.More() {
		var one acknowledgement
		if err := dec.Decode(&one); err != nil {
			return err
		}
		parsed, err := one.parsed()
		if *a = append(*a, parsed); err == nil && len(*a) > maxEntries {
			err = errEntries
		}
		if err != nil {
			return fmt.Errorf("entry %d: %w", len(*a), err)
		}
	}
	return nil
}

func (a *acknowledgement) parsed() (regression.Acknowledgement, error) {
	out := a.Acknowledgement
	var err error
	switch {
	case len(a.Function) > maxGlob || len(a.Benchmark) > maxGlob:
		err = fmt.Errorf("a glob of more than %d bytes", maxGlob)
	case a.ID == "" && a.Function == "" && a.Since == "":
		err = errors.New("it accepts nothing: give the id of a finding, or a function")
	case len(a.Also) > 0 && a.ID == "":
		err = errors.New("also lists further findings: give the id of the first")
	case a.UpTo < 0 || a.UpTo > 1:
		err = fmt.Errorf("upTo is %g: give a share of the program between 0 and 1 (5%% is 0.05)", a.UpTo)
	case a.Until != "":
		out.Until, err = words.ParseDate(a.Until)
	}
	return out, err
}

// Bounds of acknowledgements, which a repository or a request brings with it.
const (
	maxAcknowledged = 4 << 20 // bytes of a file
	maxGlob         = 4 << 10 // bytes of one glob
	maxEntries      = 2000    // each is compared with every finding, or function
)

var errEntries = fmt.Errorf("more than %d entries: remove those that have expired", maxEntries)

// ReadAcknowledgements reads a file of acknowledgements; no file is an empty list. A file that
// a person wrote is read strictly: a misspelled key would accept nothing, or too much.
func ReadAcknowledgements(name string) (list Acknowledgements, err error) {
	data, err := plainfile.Read(name, maxAcknowledged)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("acknowledged changes: %s: %w", name, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	fail := func(offset int64, err error) error {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			offset = syntax.Offset
		}
		return fmt.Errorf("acknowledged changes: %s:%d: %w", name, 1+bytes.Count(data[:min(int(offset), len(data))], []byte("\n")), err)
	}
	if start, err := dec.Token(); err != nil || start != json.Delim('[') {
		if err == nil {
			err = errors.New("want a list: [{\"id\": \"…\", \"reason\": \"…\"}]")
		}
		return nil, fail(dec.InputOffset(), err)
	}
	for dec.More() {
		at := dec.InputOffset()
		at += int64(len(data[at:]) - len(bytes.TrimLeft(data[at:], ", \t\r\n")))
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, fail(dec.InputOffset(), err)
		}
		one, place, err := strictly(raw)
		if err != nil {
			return nil, fail(at+place, err)
		}
		if list = append(list, one); len(list) > maxEntries {
			return nil, fail(at, errEntries)
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, fail(int64(len(data)), errors.New("the list does not end: ] is missing"))
	}
	return list, nil
}

var unknownKey = regexp.MustCompile(`unknown field "(.*)"$`)

// strictly reads one entry; with an error it returns the place of it in the text.
func strictly(raw json.RawMessage) (regression.Acknowledgement, int64, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var a acknowledgement
	err := dec.Decode(&a)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return regression.Acknowledgement{}, wrong.Offset,
			fmt.Errorf("%s: a %s is not what it takes (docs/schema/findings.md)", wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:],
				wrong.Value)
	case err != nil:
		key := ""
		if m := unknownKey.FindStringSubmatch(err.Error()); m != nil {
			key = m[1]
		}
		keys := []string{"id", "also", "function", "benchmark", "until", "upTo", "reason", "by", "at", "since"}
		place := max(0, bytes.Index(raw, []byte(`"`+key+`"`)))
		return regression.Acknowledgement{}, int64(place),
			fmt.Errorf("unknown key %q%s (keys: %s)", key, words.DidYouMean(key, keys), strings.Join(keys, ", "))
	}
	out, err := a.parsed()
	return out, 0, err
}

// Lapsed lists the acknowledgements that would accept one of the findings, if they had not
// expired or the change were not larger than what they accept.
func (a Acknowledgements) Lapsed(findings []regression.Finding, now time.Time) []string {
	var notes []string
	for i := range a {
		one := a[i]
		expired := !one.Until.IsZero() && !now.Before(one.Until)
		if !expired && one.UpTo == 0 {
			continue
		}
		one.Until, one.UpTo = time.Time{}, 0
		for k := range findings {
			if findings[k].Acknowledged != nil || !findings[k].Kind.Costs() {
				continue
			}
			f := []regression.Finding{findings[k], findings[k]}
			if c := findings[k].Change; c != nil { // it may be accepted by either id
				f[1].ID = c.Finding
			}
			if regression.Acknowledge(f, []regression.Acknowledgement{one}, now); f[0].Acknowledged == nil && f[1].Acknowledged == nil {
				continue
			}
			what := fmt.Sprintf("%s in %s was acknowledged", words.Clean(f[0].Function), words.Clean(f[0].Benchmark))
			if expired {
				notes = append(notes, fmt.Sprintf("%s until %s: the acknowledgement has expired, and the change counts again", what, a[i].Until.Format(time.DateOnly)))
			} else {
				notes = append(notes, fmt.Sprintf("%s up to %s: at %s it is more than 1.5 times as large, and counts again", what, words.Percent(a[i].UpTo), words.SignedPercent(f[0].Delta.Share)))
			}
		}
	}
	return notes
}
