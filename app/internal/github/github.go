// Package github talks to GitHub from inside a workflow: annotations at lines of
// code, the summary of a step, and one comment on the pull request that is updated
// in place.
//
// What runs where is read from the variables that GitHub Actions sets and from the
// event file (Workflow). Nothing is sent unless a token is there and the event is a
// pull request; a pull request from a fork has a token that may only read, so its
// comment fails, and that is for the caller to say and not to fail on.
//
// The package writes what it is given: it does not know what a finding is.
package github

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Workflow is where a program runs. The zero value is anywhere but GitHub.
type Workflow struct {
	Actions    bool   // it is a step of a workflow
	Token      string // empty: nothing may be sent
	API        string // base address
	Repository string // owner/name
	Summary    string // file of the step's summary
	Event      string // its name
	Commit     string // that it checks out by default: of pull_request_target the base, of others a pull request's merge with its base
	HeadCommit string // of the pull request; else Commit
	Number     int    // of the pull request; 0: the event is none
}

// FromEnvironment reads the variables of GitHub Actions and the event file.
func FromEnvironment(getenv func(string) string) (Workflow, error) {
	w := Workflow{Actions: getenv("GITHUB_ACTIONS") == "true"}
	if !w.Actions {
		return w, nil
	}
	w.Token, w.Repository, w.Summary = getenv("GITHUB_TOKEN"), getenv("GITHUB_REPOSITORY"), getenv("GITHUB_STEP_SUMMARY")
	w.Event, w.Commit = getenv("GITHUB_EVENT_NAME"), getenv("GITHUB_SHA")
	w.HeadCommit = w.Commit
	if w.API = strings.TrimSuffix(getenv("GITHUB_API_URL"), "/"); w.API == "" {
		w.API = "https://api.github.com"
	}
	return w, w.readEvent(getenv("GITHUB_EVENT_PATH"))
}

// Commits returns the commit that the workflow measures, given the one that is checked out (empty: unknown), and the one
// that it judges. A push or a pull request measures its own commit, or the merge of this, whatever a step committed since;
// a comment, a schedule, … what the workflow checked out. Only what pull_request_target checks out, the base, is not judged.
func (w *Workflow) Commits(checkedOut string) (measured, judged string) {
	measured = w.HeadCommit
	if checkedOut == w.Commit || checkedOut != "" && w.Number == 0 && w.Event != "push" {
		measured = checkedOut
	}
	if w.Event == "pull_request_target" {
		return measured, w.HeadCommit
	}
	return measured, measured
}

// maxEvent bounds the event file.
const maxEvent = 32 << 20

// readEvent takes the pull request out of the event.
func (w *Workflow) readEvent(name string) error {
	if name == "" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("event of the workflow: %w", err)
	}
	defer f.Close()
	var event struct {
		PullRequest *struct {
			Number int `json:"number"`
			Head   struct {
				SHA string `json:"sha"`
			} `json:"head"`
		} `json:"pull_request"`
	}
	if err := json.NewDecoder(io.LimitReader(f, maxEvent)).Decode(&event); err != nil {
		return fmt.Errorf("event of the workflow: %s: %w", name, err)
	}
	if p := event.PullRequest; p != nil {
		w.Number = p.Number
		if p.Head.SHA != "" {
			w.HeadCommit = p.Head.SHA
		}
	}
	return nil
}

// CanComment reports whether there is a pull request and a token.
func (w *Workflow) CanComment() bool {
	return w.Actions && w.Token != "" && w.Number > 0 && w.Repository != ""
}

// Annotation is a message at a place of the code.
type Annotation struct {
	Level   string // error, warning, notice
	File    string // relative to the repository; empty: no place
	Line    int    // 0: unknown
	Title   string
	Message string
}

// maxAnnotations is how many of a level GitHub shows of one step.
const maxAnnotations = 10

// Annotate writes annotations as workflow commands, as many of each level as GitHub
// shows, and returns the number of the others.
func Annotate(w io.Writer, list []Annotation) (left int, err error) {
	count := map[string]int{}
	for _, a := range list {
		if count[a.Level]++; count[a.Level] > maxAnnotations {
			left++
			continue
		}
		var props []string
		if a.File != "" {
			props = append(props, "file="+property(a.File))
			if a.Line > 0 {
				props = append(props, fmt.Sprintf("line=%d", a.Line))
			}
		}
		if a.Title != "" {
			props = append(props, "title="+property(a.Title))
		}
		command := a.Level
		if props != nil {
			command += " " + strings.Join(props, ",")
		}
		if _, err = fmt.Fprintf(w, "::%s::%s\n", command, data(a.Message)); err != nil {
			return left, err
		}
	}
	return left, nil
}

// data and property escape texts of workflow commands.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}

// AppendSummary adds Markdown to the summary of the step, if there is one.
func (w *Workflow) AppendSummary(markdown string) error {
	if w.Summary == "" {
		return nil
	}
	f, err := os.OpenFile(w.Summary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("summary of the step: %w", err)
	}
	_, err = f.WriteString(markdown + "\n")
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Marker returns the hidden line that a comment begins with, by which the next run
// finds it. Different keys are different comments.
func Marker(key string) string {
	return "<!-- dendro " + url.QueryEscape(strings.ReplaceAll(key, "-", "_")) + " -->"
}

// Limits of the conversation with the server.
const (
	patience   = 30 * time.Second
	maxPages   = 30
	perPage    = 100
	maxAnswer  = 16 << 20
	apiVersion = "2022-11-28"
)

// Comment writes the comment with the marker of key on the pull request: it updates
// the one that is there, or makes it. Body is Markdown without the marker. It returns
// the comment's address.
func (w *Workflow) Comment(ctx context.Context, client *http.Client, key, body string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := conversation{ctx, client, w}
	body = Marker(key) + "\n" + body
	ids, err := c.mine(Marker(key))
	if err != nil {
		return "", fmt.Errorf("comment on pull request %d: %w", w.Number, err)
	}
	for _, id := range ids {
		address, status, err := c.write(http.MethodPatch, fmt.Sprintf("issues/comments/%d", id), body)
		if status == http.StatusForbidden || status == http.StatusNotFound {
			continue // somebody else's, or gone
		}
		return address, err
	}
	address, _, err := c.write(http.MethodPost, fmt.Sprintf("issues/%d/comments", w.Number), body)
	if err != nil {
		err = fmt.Errorf("comment on pull request %d: %w", w.Number, err)
	}
	return address, err
}

// conversation is a few requests to the server.
type conversation struct {
	ctx    context.Context
	client *http.Client
	w      *Workflow
}

// mine returns the comments that begin with the marker, the oldest first.
func (c *conversation) mine(marker string) ([]int64, error) {
	var ids []int64
	for page := 1; page <= maxPages; page++ {
		var list []struct {
			ID   int64  `json:"id"`
			Body string `json:"body"`
		}
		if _, err := c.do(http.MethodGet, fmt.Sprintf("issues/%d/comments?per_page=%d&page=%d", c.w.Number, perPage, page), nil,
			&list); err != nil {
			return nil, err
		}
		for _, x := range list {
			if strings.HasPrefix(x.Body, marker) {
				ids = append(ids, x.ID)
			}
		}
		if len(list) < perPage {
			break
		}
	}
	return ids, nil
}

func (c *conversation) write(method, path, body string) (address string, status int, err error) {
	var answer struct {
		URL string `json:"html_url"`
	}
	status, err = c.do(method, path, map[string]string{"body": body}, &answer)
	return answer.URL, status, err
}

// do sends a request and decodes the answer. Errors do not hold the token.
func (c *conversation) do(method, path string, send, answer any) (status int, err error) {
	var body io.Reader
	if send != nil {
		text, err := json.Marshal(send)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(c.ctx, method, c.w.API+"/repos/"+c.w.Repository+"/"+path, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", apiVersion)
	req.Header.Set("Authorization", "Bearer "+c.w.Token)
	req.Header.Set("User-Agent", "dendro")
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return resp.StatusCode, err
	}
	if resp.StatusCode >= 300 {
		var problem struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(text, &problem) // the status says enough
		return resp.StatusCode, fmt.Errorf("%s: %s", resp.Status, problem.Message)
	}
	return resp.StatusCode, json.Unmarshal(text, answer)
}
