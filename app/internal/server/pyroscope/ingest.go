package pyroscope

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/connect"
	"github.com/dendroprof/dendro/app/internal/server/receiver"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/format/pprof"
	"github.com/dendroprof/dendro/profile"
)

// ingest returns the handler of /ingest. It answers after the commit.
func (p *Pyroscope) ingest() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			if problem := server.BodyProblem(err); problem != nil {
				p.in.Refuse(receiver.Refused(problem))
			}
			connect.WriteBodyError(w, r, err)
			return
		}
		push, err := p.parse(r.URL.Query(), r.Header.Get("Content-Type"), body)
		if err != nil {
			p.in.Refuse(err)
		} else {
			err = intake.Of(push.app, p.in.Push(r.Context(), server.Client(r.Context()), push.fill))
		}
		if err != nil {
			connect.WriteError(w, r, receiver.Status(err))
			return
		}
		w.WriteHeader(http.StatusOK) // clients know no other success
	})
}

// push is a request to /ingest.
type push struct {
	app         string
	labels      continuous.Labels
	from, until time.Time
	now         time.Time
	format      format
	rate        int64 // samples per second; 0: values are not scaled

	body  []byte            // without a form
	parts map[string][]byte // of the form; nil: there is none
}

// format is how the content of a push is encoded.
type format int

const (
	groups format = iota // stack value
	lines                // stack
	trie
	tree
	jfrFormat
	pprofFormat
	speedscopeFormat
)

// formats are the values of the parameter format. Any other is groups.
var formats = map[string]format{"lines": lines, "trie": trie, "tree": tree, "jfr": jfrFormat, "pprof": pprofFormat,
	"speedscope": speedscopeFormat}

// parse reads the parameters of a push, and its form.
func (p *Pyroscope) parse(query url.Values, contentType string, body []byte) (*push, error) {
	now := p.now()
	app, labels, err := parseName(query.Get("name"))
	if err != nil {
		return nil, err
	}
	spy := cmp.Or(query.Get("spyName"), "unknown")
	labels = append([]continuous.Label{{Name: spyLabel, Value: spy}}, labels...)
	in := &push{app: app, labels: intake.Labels(labels), now: now, body: body, rate: 100,
		from: ParseTime(query.Get("from"), now), until: ParseTime(query.Get("until"), now)}
	if in.from.Equal(now) {
		in.from = time.Time{} // the request has no time of its own
	}
	if rate, err := strconv.ParseUint(query.Get("sampleRate"), 10, 31); err == nil {
		in.rate = int64(rate)
	}
	media, parameters, _ := mime.ParseMediaType(contentType) // a damaged one is none
	form := media == "multipart/form-data"
	in.format = formats[query.Get("format")]
	switch {
	case in.format == trie, media == "binary/octet-stream+trie":
		in.format = trie
	case in.format == tree, media == "binary/octet-stream+tree":
		in.format = tree
	case in.format == groups && form: // the Go SDK does not say what it sends
		in.format = pprofFormat
	}
	if form {
		in.body = nil
		if in.parts, err = readForm(body, parameters["boundary"]); err != nil {
			return nil, fmt.Errorf("multipart/form-data: %w", err)
		}
	}
	return in, nil
}

// The maximum number of parts of a form, of which SDKs send two, and of bytes of the configuration of
// sample types.
const (
	maxParts  = 16
	maxConfig = 64 << 10
)

// readForm returns the parts of a form by name.
func readForm(body []byte, boundary string) (map[string][]byte, error) {
	if boundary == "" {
		return nil, errors.New("the content type has no boundary")
	}
	in := multipart.NewReader(bytes.NewReader(body), boundary)
	parts := map[string][]byte{}
	for range maxParts {
		part, err := in.NextRawPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		parts[part.FormName()] = content
	}
	return nil, fmt.Errorf("more than %d parts", maxParts)
}

// fill decodes a push and adds its profile.
func (in *push) fill(w *intake.Worker) error {
	switch in.format {
	case pprofFormat:
		return in.pprof(w)
	case jfrFormat:
		return in.jfr(w)
	}
	return in.text(w)
}

// pprof adds a pprof profile, raw or in a form.
func (in *push) pprof(w *intake.Worker) error {
	content := in.body
	var config map[string]typeConfig
	if in.parts != nil {
		var ok bool
		if content, ok = in.parts["profile"]; !ok {
			return errors.New("multipart/form-data: the form has no part profile")
		}
		if len(in.parts["prev_profile"]) > 0 {
			return errors.New("prev_profile: unsupported client version: its profiles need the one before; update the SDK")
		}
		text := in.parts["sample_type_config"]
		if len(text) > maxConfig {
			return fmt.Errorf("sample_type_config: more than %d bytes", maxConfig)
		}
		if len(text) > 0 {
			if err := json.Unmarshal(text, &config); err != nil {
				return fmt.Errorf("sample_type_config: %w", err)
			}
		}
	}
	decoded, err := decodePprof(w, content)
	if err != nil || decoded == nil {
		return err
	}
	return w.Add(in.profile(decoded, pprofTypes(decoded, "", config)))
}

// profile returns a decoded profile with what the request says about it.
func (in *push) profile(p *profile.Profile, types func(int) (continuous.Type, bool)) *intake.Profile {
	service, labels := in.labels.Cut(continuous.ServiceLabel)
	service = cmp.Or(service, in.app)
	out := &intake.Profile{Profile: p, Service: service, Labels: labels, Type: types, Bytes: int64(len(in.body))}
	for _, part := range in.parts {
		out.Bytes += int64(len(part))
	}
	receiver.SetWindow(out, in.from, in.until, in.now)
	return out
}

// decodePprof decodes a pprof profile, with gzip or without; nil if the content is empty.
func decodePprof(w *intake.Worker, content []byte) (*profile.Profile, error) {
	plain, err := receiver.Plain(content, w.MaxProfile())
	if err != nil || len(plain) == 0 {
		return nil, named("pprof", err)
	}
	p, err := w.Decode("pprof", plain, func() profile.Decoder { return pprof.NewDecoder() })
	return p, named("pprof", err)
}

// named adds what was decoded to an error.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
