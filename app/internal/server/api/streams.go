package api

import (
	"encoding/json"
	"iter"
	"net/http"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/query/tasks"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// streams lists the routes of whole profiles: one way up and one down.
func (a *api) streams() []server.Route {
	return []server.Route{
		{Pattern: "POST " + transfer.Put, Needs: server.All, Kind: server.Imports, Upload: true, Handler: handler(a.put)},
		{Pattern: "POST " + transfer.Get, Needs: server.Reading, Kind: server.Streams, Handler: handler(a.get)},
	}
}

// put stores uploaded files.
func (a *api) put(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, a.PutBytes)
	body, release := server.Reserve(r, a.puts)
	defer release()
	files, opts, err := transfer.ReadFiles(body)
	if err != nil {
		return err
	}
	outcomes, err := a.Store.Put(r.Context(), files, opts)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", transfer.ContentType)
	abortOn(transfer.WriteOutcomes(w, outcomes))
	return nil
}

// get answers with profiles as files, or with what was sampled.
func (a *api) get(w http.ResponseWriter, r *http.Request) error {
	var wanted transfer.Wanted
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit)).Decode(&wanted); err != nil {
		return mistakef("the body: %w", err)
	}
	if wanted.Samples != nil {
		return a.getSamples(w, r, wanted.Samples)
	}
	var files []*store.File
	var err error
	if wanted.Waiting {
		var list []store.Measurement
		list, err = a.Store.Waiting(r.Context())
		for _, m := range list {
			files = append(files, &store.File{Benchmark: m.Benchmark, Run: m.Run, Metrics: m.Metrics})
		}
	} else {
		files, err = store.Here(a.Store).Files(r.Context(), wanted.Profiles)
	}
	if err != nil {
		return err
	}
	info, err := a.Store.Info(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", transfer.ContentType)
	abortOn(transfer.WriteFiles(w, files, store.PutOptions{Rules: info.Rules}))
	return nil
}

// getSamples answers with what was sampled.
func (a *api) getSamples(w http.ResponseWriter, r *http.Request, wanted *transfer.WantedSamples) error {
	st, err := a.traces()
	if err != nil {
		return err
	}
	s := tasks.SampleSelection{Task: wanted.Task, Trace: wanted.Trace, Segments: wanted.Segments}
	if wanted.Name != "" {
		if s, err = tasks.Named(r.Context(), st, wanted.Name); err != nil {
			return err
		}
	}
	part, err := tasks.Sampled(r.Context(), st, s)
	if err != nil {
		return err
	}
	var rows iter.Seq2[traceprof.Snapshots, error] = st.Snapshots(r.Context(), part.Snapshots)
	w.Header().Set("Content-Type", transfer.ContentType)
	abortOn(transfer.WriteSampled(w, http.NewResponseController(w).Flush,
		&transfer.Sampled{Tasks: part.Tasks, Segments: part.Segments, Snapshots: rows}))
	return nil
}
