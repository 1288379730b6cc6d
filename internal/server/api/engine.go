package api

import (
	"context"
	"net/http"

	"github.com/dendroprof/dendro/internal/transfer"
	"github.com/dendroprof/dendro/store"
)

// question answers one method of the contract.
type question func(w http.ResponseWriter, r *http.Request, q transfer.Question) error

// questions lists the methods that read, by their names below /api/v1/store.
func (a *api) questions() map[string]question {
	st := a.Store
	return map[string]question{
		"profiles": whole(func(ctx context.Context, q transfer.Question) (transfer.Answer, error) {
			list, err := st.Profiles(ctx, q.Query)
			return (*transfer.Profiles)(&list), err
		}),
		"function-names": whole(func(ctx context.Context, _ transfer.Question) (transfer.Answer, error) {
			list, err := st.FunctionNames(ctx)
			return (*transfer.FunctionNames)(&list), err
		}),
		"raw-names": whole(func(ctx context.Context, q transfer.Question) (transfer.Answer, error) {
			raw, err := st.RawNames(ctx, q.Group, q.Names)
			return (*transfer.RawNames)(&raw), err
		}),
		"waiting": whole(func(ctx context.Context, _ transfer.Question) (transfer.Answer, error) {
			list, err := st.Waiting(ctx)
			return (*transfer.Measurements)(&list), err
		}),
		"source": whole(func(ctx context.Context, q transfer.Question) (transfer.Answer, error) {
			if len(q.Profiles) != 1 {
				return nil, mistakef("the source of %d profiles is asked; it is of one", len(q.Profiles))
			}
			source, err := st.Source(ctx, q.Profiles[0])
			return (*transfer.Source)(&source), err
		}),
		"function-sums": whole(func(ctx context.Context, q transfer.Question) (transfer.Answer, error) {
			sums, err := store.SumFunctions(ctx, st, q.Query)
			return (*transfer.Sums)(sums), err
		}),
		"function-moments": whole(func(ctx context.Context, q transfer.Question) (transfer.Answer, error) {
			set, err := store.FunctionMoments(ctx, st, q.Query, q.Measure)
			return (*transfer.Moments)(set), err
		}),
		"merged-tree": whole(func(ctx context.Context, q transfer.Question) (transfer.Answer, error) {
			t, profiles, err := store.MergeTrees(ctx, st, q.Query)
			return &transfer.Merged{Tree: t, Profiles: profiles}, err
		}),
		"functions": a.storeFunctions,
		"trees":     a.storeTrees,
		"sql":       a.storeSQL,
	}
}

// whole makes a handler of a question that is answered in one piece.
func whole(answer func(context.Context, transfer.Question) (transfer.Answer, error)) question {
	return func(w http.ResponseWriter, r *http.Request, q transfer.Question) error {
		v, err := answer(r.Context(), q)
		if err != nil {
			return err
		}
		return send(w, v)
	}
}

// send answers in one piece.
func send(w http.ResponseWriter, v transfer.Answer) error {
	begin(w)
	abortOn(transfer.WriteAnswer(w, v))
	return nil
}

// begin begins an answer; what flushes its stream is returned.
func begin(w http.ResponseWriter) transfer.Flusher {
	w.Header().Set("Content-Type", transfer.ContentType)
	return http.NewResponseController(w).Flush
}

func (a *api) storeFunctions(w http.ResponseWriter, r *http.Request, q transfer.Question) error {
	names := q.Names
	if q.All {
		names = nil
	}
	set, err := a.Store.Functions(r.Context(), q.Query, names)
	if err != nil {
		return err
	}
	abortOn(transfer.WriteFunctions(w, begin(w), set))
	return nil
}

func (a *api) storeTrees(w http.ResponseWriter, r *http.Request, q transfer.Question) error {
	set, err := a.Store.Trees(r.Context(), q.Query, q.Options)
	if err != nil {
		return err
	}
	abortOn(transfer.WriteTrees(w, begin(w), set))
	return nil
}

func (a *api) storeSQL(w http.ResponseWriter, r *http.Request, q transfer.Question) error {
	speaker, err := a.speaker()
	if err != nil {
		return err
	}
	answer, err := speaker.SQL(r.Context(), q.SQL)
	if err != nil {
		return sqlMistake(err)
	}
	abortOn(transfer.WriteSQL(w, begin(w), answer))
	return nil
}

func (a *api) storePut(w http.ResponseWriter, r *http.Request) error {
	files, opts, err := transfer.ReadFiles(http.MaxBytesReader(w, r.Body, a.PutBytes))
	if err != nil {
		return err
	}
	outcomes, err := a.Store.Put(r.Context(), files, opts)
	if err != nil {
		return err
	}
	return send(w, (*transfer.Outcomes)(&outcomes))
}

func (a *api) storeDelete(w http.ResponseWriter, r *http.Request) error {
	q, err := transfer.ReadQuestion(r.Body)
	if err != nil {
		return err
	}
	n, err := a.Store.Delete(r.Context(), q.Profiles)
	if err != nil {
		return err
	}
	return send(w, (*transfer.Count)(&n))
}

func (a *api) storeCompact(w http.ResponseWriter, r *http.Request) error {
	if err := a.Store.Compact(r.Context()); err != nil {
		return err
	}
	return send(w, new(transfer.Count))
}
