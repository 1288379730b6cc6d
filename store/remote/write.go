package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/remote/transfer"
)

// Put uploads files. When the answer is lost on the way back the error says that
// nothing is known: the same files may then be put again, what is there already
// is unchanged (S4).
func (s *Store) Put(ctx context.Context, files []*store.File, opts store.PutOptions) ([]store.Outcome, error) {
	in, out := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := transfer.WriteFiles(out, files, opts)
		out.CloseWithError(err)
		written <- err
	}()
	resp, err := s.do(ctx, http.MethodPost, "/api/v1/store/put", in)
	in.CloseWithError(errors.New("the server has answered"))
	<-written // the files are the caller's again
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var outcomes transfer.Outcomes
	if err := transfer.ReadAnswer(resp.Body, &outcomes); err != nil {
		return nil, fmt.Errorf("it is not known what %s stored, put the same again: %w", s.base, s.broken(ctx, err))
	}
	if len(outcomes) != len(files) {
		return nil, fmt.Errorf("%s says what became of %d files, not %d", s.base, len(outcomes), len(files))
	}
	return outcomes, nil
}

// change asks for a change; it is never asked twice.
func (s *Store) change(ctx context.Context, what string, q transfer.Question, into transfer.Answer) error {
	message, err := q.Encode()
	if err != nil {
		return err
	}
	resp, err := s.do(ctx, http.MethodPost, "/api/v1/store/"+what, bytes.NewReader(message))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := transfer.ReadAnswer(resp.Body, into); err != nil {
		return s.broken(ctx, err)
	}
	return nil
}

// Delete removes profiles.
func (s *Store) Delete(ctx context.Context, ids []store.ProfileID) (int, error) {
	var n transfer.Count
	err := s.change(ctx, "delete", transfer.Question{Profiles: ids}, &n)
	return int(n), err
}

// Compact lets the server put its store into the best order.
func (s *Store) Compact(ctx context.Context) error {
	var n transfer.Count
	return s.change(ctx, "compact", transfer.Question{}, &n)
}
