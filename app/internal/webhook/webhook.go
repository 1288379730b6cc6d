// Package webhook posts findings to where people read them: Slack, Prometheus'
// Alertmanager, or a program of their own. A Log remembers what was posted, so that each
// finding is posted once.
//
// The package searches for nothing. The address of a hook is a secret: errors name its host
// only.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/secret"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/report"
)

// Format is the form of what is posted.
type Format string

// The formats. Slack's also suits Mattermost and others that read its field `text`.
const (
	Slack        Format = "slack"        // {"text": …}
	Alertmanager Format = "alertmanager" // an alert of API v2
	JSON         Format = "json"         // {"text": …, "finding": docs/schema/findings.md}
)

// FormatOf guesses the format from the address of a hook.
func FormatOf(address string) Format {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return JSON
	case strings.HasSuffix(u.Path, "/api/v2/alerts"):
		return Alertmanager
	case u.Hostname() == "hooks.slack.com":
		return Slack
	}
	return JSON
}

// Hook is where findings are posted.
type Hook struct {
	host   string
	url    string
	format Format
	client *http.Client
}

// timeout is that of a post.
const timeout = 20 * time.Second

// New returns the hook of an address. An empty format is FormatOf's.
func New(address string, f Format) (*Hook, error) {
	switch f {
	case "", Slack, Alertmanager, JSON:
	default:
		return nil, fmt.Errorf("unknown format %q: use slack, alertmanager or json", f)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the address of the webhook is not http://… or https://…")
	}
	if u.Scheme == "http" {
		if err := secret.InClear("the finding", u.Hostname(), "https://"); err != nil {
			return nil, err
		}
	}
	// A redirect would carry the finding to a host that nobody named.
	follow := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Hook{u.Host, address, cmp.Or(f, FormatOf(address)), &http.Client{Timeout: timeout, CheckRedirect: follow}}, nil
}

// Post posts a finding. The status of the answer must be 2xx.
func (h *Hook) Post(ctx context.Context, f *regression.Finding, now time.Time) error {
	body, err := h.body(f, now)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("webhook at %s: the address is not valid", h.host)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := h.client.Do(req)
	if err != nil {
		if in, ok := errors.AsType[*url.Error](err); ok {
			err = in.Err // without the address
		}
		return fmt.Errorf("webhook at %s: %w", h.host, err)
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("webhook at %s: %s: %s", h.host, resp.Status, words.Clean(strings.TrimSpace(string(said))))
	}
	return nil
}

// Teller posts findings, each once.
type Teller struct {
	Hook     *Hook // nil: findings are printed only
	Log      *Log
	Suspects bool      // also those that are not confirmed
	Out      io.Writer // gets a line for each
}

// Tell posts the regressions that are new and not accepted. It goes on after a failure; a
// finding that could not be posted is new the next time too.
func (t *Teller) Tell(ctx context.Context, findings []regression.Finding, now time.Time) error {
	var failed error
	for i := range findings {
		f := &findings[i]
		if f.Stands(t.Suspects) {
			failed = errors.Join(failed, t.tell(ctx, f, now))
		}
	}
	return failed
}

func (t *Teller) tell(ctx context.Context, f *regression.Finding, now time.Time) error {
	if !t.Log.Has(f) {
		if t.Hook != nil {
			if err := t.Hook.Post(ctx, f, now); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(t.Out, Text(f)); err != nil {
			return err
		}
	}
	return t.Log.Add(f, now)
}

// Text describes a finding in one line.
func Text(f *regression.Finding) string {
	what := cmp.Or(report.Title(f), "the program")
	of := words.Clean(f.Of().String())
	return fmt.Sprintf("%s (%s): %s became slower: %s, since %s (%s)", of, words.Clean(f.Type), what, report.Amount(f), words.Clean(since(f)),
		f.Status)
}

// since names the version that the change came with: the commit or release, else the run.
func since(f *regression.Finding) string { return cmp.Or(f.Since.Commit, f.Since.Run) }

// lasting is how long Alertmanager shows an alert, which is posted once.
const lasting = 24 * time.Hour

func (h *Hook) body(f *regression.Finding, now time.Time) ([]byte, error) {
	switch h.format {
	case Slack:
		return json.Marshal(map[string]string{"text": escape(Text(f))})
	case Alertmanager:
		labels := map[string]string{"alertname": "DendroRegression", "group": f.Group, "benchmark": f.Benchmark, "type": f.Type,
			"function": f.Function, "since": since(f), "finding": f.ID, "severity": "warning"}
		if f.Sides != nil && f.Sides.Service != "" { // by which alerts of a service are routed
			labels["service"] = f.Sides.Service
		}
		return json.Marshal([]map[string]any{{
			"labels":      labels,
			"annotations": map[string]string{"summary": Text(f), "path": strings.Join(words.CleanAll(f.Path), ";")},
			"startsAt":    now.UTC().Format(time.RFC3339), "endsAt": now.Add(lasting).UTC().Format(time.RFC3339),
		}})
	}
	return json.Marshal(map[string]any{"text": Text(f), "finding": f})
}

// escape writes a text for Slack, in which <, > and & are syntax.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
