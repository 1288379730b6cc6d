package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

var (
	_ store.Origin      = (*Client)(nil)
	_ store.Destination = (*Client)(nil)
)

// Profiles lists the selected profiles in the order of their import, in which Seq counts.
func (c *Client) Profiles(ctx context.Context, q store.Query) ([]store.Profile, error) {
	r := &query.ProfilesRequest{Selection: q, Order: "import"}
	body, err := c.Ask(ctx, Request{Method: http.MethodGet, Path: "/api/v1/profiles", Values: param.Values(r)})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var result query.ProfilesResult
	if err := json.NewDecoder(body).Decode(&result); err != nil {
		return nil, err
	}
	for i := range result.Rows {
		result.Rows[i].Seq = int64(i + 1)
	}
	return result.Rows, nil
}

// Files downloads profiles as the files that they came from.
func (c *Client) Files(ctx context.Context, ids []store.ProfileID) ([]*store.File, error) {
	return c.files(ctx, transfer.Wanted{Profiles: ids})
}

// Waiting lists the metrics that wait for a profile.
func (c *Client) Waiting(ctx context.Context) ([]store.Measurement, error) {
	files, err := c.files(ctx, transfer.Wanted{Waiting: true})
	list := make([]store.Measurement, len(files))
	for i, f := range files {
		list[i] = store.Measurement{Benchmark: f.Benchmark, Run: f.Run, Metrics: f.Metrics}
	}
	return list, err
}

// files downloads files.
func (c *Client) files(ctx context.Context, wanted transfer.Wanted) ([]*store.File, error) {
	body, err := c.download(ctx, wanted)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	files, _, err := transfer.ReadFiles(body)
	return files, c.misread(err)
}

func (c *Client) download(ctx context.Context, wanted transfer.Wanted) (*Answer, error) {
	body, err := json.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	return c.Ask(ctx, Request{Method: http.MethodPost, Path: transfer.Get, Body: body})
}

// misread says whose answer is not what it should be.
func (c *Client) misread(err error) error {
	if errors.Is(err, transfer.ErrMalformed) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the answer of %s: %w", c.base, err)
	}
	return err
}

// Put uploads files. If the answer is lost, the error says that nothing is known: the
// same files may then be put again, and those that are stored are unchanged (S4).
func (c *Client) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	in, w := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		w.CloseWithError(transfer.WriteFiles(w, files, opts))
	}()
	body, err := c.send(ctx, &Request{Method: http.MethodPost, Path: transfer.Put, Type: transfer.ContentType}, in)
	in.CloseWithError(errors.New("the server has answered"))
	<-written // now the caller may change what was written
	if err != nil {
		return nil, err
	}
	defer body.Close()
	outcomes, err := transfer.ReadOutcomes(body)
	if err == nil && len(outcomes) != len(files) {
		err = fmt.Errorf("it returned the outcomes of %d files, not %d", len(outcomes), len(files))
	}
	if err != nil {
		return nil, fmt.Errorf("it is unknown what %s stored; put the same again: %w", c.base, c.misread(err))
	}
	return outcomes, nil
}

// Sampled downloads what was sampled of a task, a trace or segments into memory.
func (c *Client) Sampled(ctx context.Context, wanted transfer.WantedSamples) (traceprof.Store, error) {
	body, err := c.download(ctx, transfer.Wanted{Samples: &wanted})
	if err != nil {
		return nil, err
	}
	s, err := transfer.ReadSampled(body)
	if err != nil {
		body.Close()
		return nil, c.misread(err)
	}
	near := &sampled{Store: mem.New(), tasks: s.Tasks}
	if err := near.PutSegments(ctx, s.Segments...); err != nil {
		body.Close()
		return nil, err
	}
	for list, err := range s.Snapshots {
		if err == nil {
			err = near.PutSnapshots(ctx, list)
		}
		if err != nil {
			return nil, c.misread(err)
		}
	}
	return near, nil
}

// sampled is a store in memory with the tasks of another.
type sampled struct {
	traceprof.Store
	tasks []traceprof.Task
}

func (s *sampled) Task(_ context.Context, id string) (traceprof.Task, error) {
	i := slices.IndexFunc(s.tasks, func(t traceprof.Task) bool { return t.ID == id })
	if i < 0 {
		return traceprof.Task{}, fmt.Errorf("%w: %s", traceprof.ErrNoTask, id)
	}
	return s.tasks[i], nil
}

func (s *sampled) Tasks(context.Context, traceprof.TaskQuery) ([]traceprof.Task, error) {
	return s.tasks, nil
}

// SQL runs a user's query at the server, if its store speaks SQL and the server allows it.
func (c *Client) SQL(ctx context.Context, request *query.SQLRequest, text string) (*store.SQLAnswer, error) {
	r := Request{Method: http.MethodPost, Path: "/api/v1/sql", Values: param.Values(request), Body: []byte(text),
		Type: "text/plain"}
	body, err := c.Ask(ctx, r)
	if err != nil {
		return nil, err
	}
	return readSQL(body)
}
